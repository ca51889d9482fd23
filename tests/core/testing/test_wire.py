"""The shortest session of a real harness, as ``ha doctor`` makes it."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness_adapters import HarnessExit, MissingPrerequisite, Plugins, Session, Toolchain
from harness_adapters.testing import check_wire
from harness_adapters.types import Ended


@pytest.mark.parametrize(
    "harness",
    ["pi", *(pytest.param(name, marks=pytest.mark.full) for name in ("opencode", "hermes"))],
)
async def test_a_real_harness(harness: str) -> None:
    checked = await check_wire(Plugins.load().harnesses.create(harness))
    assert checked.faults == () and checked.version and checked.seconds > 0


async def test_one_that_is_not_installed_stays_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HA_CACHE", str(tmp_path / "cache"))
    with pytest.raises(MissingPrerequisite, match=r"pi-coding-agent@.* is not installed"):
        await check_wire(Plugins.load().harnesses.create("pi"))
    assert not (tmp_path / "cache").exists()


class Idle:
    """Does nothing, and says that it was well."""

    auxiliary = ()

    async def install(self) -> Toolchain:
        return Toolchain(version="1")

    async def prepare(self, session: Session) -> None: ...

    async def run(self, session: Session) -> HarnessExit:
        return HarnessExit(ended=Ended.COMPLETED)


async def test_one_that_does_not_speak_is_told_apart() -> None:
    checked = await check_wire(Idle())
    assert checked.faults == ("it asked for no model: completed, ",)
