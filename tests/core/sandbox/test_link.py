"""The connection to a supervisor, with a program in its place that does not do its part."""

from __future__ import annotations

import secrets
import sys
from collections.abc import Callable

import pytest

from harness_adapters.sandbox import link

SLEEPS = (sys.executable, "-I", "-S", "-c", "import time; time.sleep(600)")


async def test_a_supervisor_that_does_not_end_is_killed(
    monkeypatch: pytest.MonkeyPatch, marked_processes: Callable[[str], list[int]]
) -> None:
    monkeypatch.setattr(link, "_CLOSE_SECONDS", 0.1)
    mark = f"mark-{secrets.token_hex(8)}"
    stubborn = await link.Link.start([*SLEEPS, mark])
    assert len(marked_processes(mark)) == 1
    await stubborn.close()
    assert marked_processes(mark) == []
