"""Installed native programs: telling them from scripts, and asking them for their version."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

from harness_adapters.errors import MissingPrerequisite
from harness_adapters.harness.program import run_program

_PROBE_SECONDS = 60.0


def is_native(path: Path) -> bool:
    """Whether it is a program for this kind of machine rather than a script."""
    try:
        with path.open("rb") as file:
            return file.read(4) == b"\x7fELF"
    except OSError:
        return False


async def native_version(binary: Path, *, harness: str, says: str = r"(\d+\.\d+\.\d+\S*)") -> str:
    """What it says when asked for ``--version``, with an empty home.

    :param harness: what it should be, for messages.
    :param says: pattern of the whole last line of its answer; its group is the version.
    :raises MissingPrerequisite: it does not start, or does not tell.
    """
    with tempfile.TemporaryDirectory(prefix="ha-") as home:  # some write even for this answer
        try:
            answer = await run_program(
                [binary, "--version"], timeout=_PROBE_SECONDS, cwd=Path(home), env=_alone(home)
            )
        except OSError as error:
            raise MissingPrerequisite(f"{binary} does not start: {error}") from error
    last = answer.output.strip().splitlines()[-1:] or [""]
    found = re.fullmatch(says, last[0].strip())
    if answer.returncode or found is None:
        raise MissingPrerequisite(f"{binary} is no {harness}: it does not tell its version")
    return found[1]


def _alone(home: str) -> dict[str, str]:
    places = ("CONFIG", "DATA", "STATE", "CACHE")
    return {"HOME": home, **{f"XDG_{place}_HOME": f"{home}/{place}" for place in places}}
