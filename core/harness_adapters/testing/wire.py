"""The shortest real session of a harness: one command, one answer, over its own wire."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from harness_adapters.harness.cache import only_installed
from harness_adapters.protocols import HarnessDriver
from harness_adapters.testing.engine import Run, Say, Step
from harness_adapters.testing.session import Played, play_session
from harness_adapters.types import Ended

_MADE = "made.txt"
_SECONDS = 90.0


@dataclass(frozen=True, slots=True, kw_only=True)
class WireCheck:
    """:param faults: one line each; none when all is well."""

    version: str
    seconds: float
    faults: tuple[str, ...] = ()


async def check_wire(driver: HarnessDriver, *, install: bool = False) -> WireCheck:
    """Have the real harness run one command that a scripted engine asks for, and end.

    :param install: install the harness if it is not there.
    :raises MissingPrerequisite: it is not installed, or something it needs is missing.
    """
    with only_installed(not install):
        toolchain = await driver.install()
        with tempfile.TemporaryDirectory(prefix="ha-wire-") as folder:
            steps: list[Step] = [Run(f"echo hello > {_MADE}"), Say()]
            played = await play_session(
                driver, steps, log_dir=Path(folder), seconds=_SECONDS, max_requests=6
            )
    return WireCheck(
        version=toolchain.version, seconds=played.seconds, faults=tuple(_faults(played))
    )


def _faults(played: Played) -> Sequence[str]:
    transcript = played.transcript
    if not transcript.turns:
        return [f"it asked for no model: {played.exit.ended}, {played.exit.detail}"]
    found = []
    if played.work.get(_MADE) != b"hello\n":
        found.append("it did not run the command that the model asked for")
    if played.exit.ended is not Ended.COMPLETED:
        found.append(f"it did not end in order: {played.exit.ended}, {played.exit.detail}")
    if len(transcript.rows()) != 1:
        found.append("its conversation did not only grow")
    if transcript.flags or transcript.refused:
        found.append(f"it asked for what it is not declared to ask: {sorted(transcript.flags)}")
    return found
