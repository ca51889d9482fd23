"""The harness contract catches drivers that break it. The harness is a line of shell."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness_adapters import AuxiliaryRequest, Ended, HarnessExit, Session, Toolchain
from harness_adapters.testing import Fail, HarnessDriverContract, Run, Say
from harness_adapters.testing.harness import Play


class ShellDriver:
    """Runs a script that never asks a model, and says that all went well."""

    def __init__(self, script: str, *, auxiliary: tuple[AuxiliaryRequest, ...] = ()) -> None:
        self.script = script
        self.auxiliary = auxiliary

    async def install(self) -> Toolchain:
        return Toolchain(version="1")

    async def prepare(self, session: Session) -> None:
        pass

    async def run(self, session: Session) -> HarnessExit:
        done = await session.sandbox.exec(["/bin/sh", "-c", self.script], timeout=20)
        return HarnessExit(ended=Ended.COMPLETED, detail=str(done.returncode))


class Contract(HarnessDriverContract):
    name = "mine"


def play(driver: ShellDriver, tmp_path: Path) -> Play:
    fixture = HarnessDriverContract.play
    made = fixture.__wrapped__(Contract(), driver, tmp_path)
    return made  # type: ignore[no-any-return]


def test_success_without_a_word_from_the_model(tmp_path: Path) -> None:
    driver = ShellDriver("echo hello > made.txt")
    with pytest.raises(AssertionError):
        Contract().test_two_turns_make_a_file(play(driver, tmp_path))


def test_a_process_that_is_left_behind(tmp_path: Path) -> None:
    driver = ShellDriver("setsid sleep 100 >/dev/null 2>&1 & exit 0")
    played = play(driver, tmp_path)([Run("true"), Say()])
    assert any("sleep" in line for line in played.running)


def test_no_log(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="log folder is empty"):
        Contract().test_a_log_is_kept(play(ShellDriver("true"), tmp_path))


def test_a_side_request_that_matches_everything() -> None:
    driver = ShellDriver("", auxiliary=(AuxiliaryRequest(name="title", system_contains=" "),))
    with pytest.raises(AssertionError, match="every request"):
        Contract().test_its_side_requests_can_be_told_apart(driver)


def test_a_driver_must_not_call_a_failure_a_success(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="exit codes lie"):
        Contract().test_an_engine_that_fails_is_no_success(
            play(ShellDriver("exit 0"), tmp_path), Fail(500)
        )
