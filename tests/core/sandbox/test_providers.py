from __future__ import annotations

import pytest

from harness_adapters.errors import BadInput, MissingPrerequisite
from harness_adapters.sandbox.providers import provider


async def test_bubblewrap_is_the_default() -> None:
    found = await provider()
    assert (found.name, found.boundary) == ("bubblewrap", True)


async def test_process_says_that_it_is_no_boundary() -> None:
    found = await provider("process")
    assert (found.name, found.boundary) == ("process", False)
    assert any("no boundary" in line for line in (await found.probe()).lost)


async def test_an_unknown_name_is_bad_input() -> None:
    with pytest.raises(BadInput, match="did you mean 'bubblewrap'"):
        await provider("bubblewarp")


async def test_there_is_no_silent_fallback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(MissingPrerequisite, match=r"apt-get install.*--sandbox process"):
        await provider()
