"""How many adapters all runs on one server need at once, and whether it has room for them.

Each run holds a claim: a file, locked for as long as its process lives, so that a claim whose
owner is gone counts no more. Runs on other machines leave no claim here; what they have loaded is
counted by its names.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from harness_adapters.errors import BadInput
from harness_adapters.sandbox.reaper import state_folder
from harness_adapters.train.names import AdapterName


class TooFewSlots(BadInput):
    """The server cannot hold the adapters of all runs at once: it would evict some silently."""


@contextmanager
def claim(
    url: str, *, run: str, needed: int, slots: int | None, loaded: Iterable[str]
) -> Iterator[None]:
    """Hold ``needed`` adapter slots of the server at ``url`` while the context is open.

    :param run: the run's id; its own loaded versions are not counted again.
    :param slots: how many adapters the server holds; ``None`` where it does not say.
    :param loaded: adapters it holds now.
    :raises TooFewSlots: with what it has, what is taken and what is needed.
    """
    folder = state_folder().parent / "slots" / hashlib.sha256(url.encode()).hexdigest()[:16]
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    with (folder / ".lock").open("wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # one claim is weighed at a time
        others = dict(_live(folder, but=run))
        taken = sum(others.values()) + _foreign(loaded, {run, *others})
        if slots is not None and taken + needed > slots:
            raise TooFewSlots(
                f"{url} holds {slots} adapters at once, {taken} of them are taken by other runs, "
                f"and this run needs {needed} (max_staleness + 2): start it with room for "
                f"{taken + needed}, or lower max_staleness"
            )
        file = folder / f"{run}.claim"
        mine = file.open("wb")
        fcntl.flock(mine, fcntl.LOCK_EX)
        mine.write(json.dumps(needed).encode())
        mine.flush()
    try:
        yield
    finally:
        file.unlink(missing_ok=True)
        mine.close()


def _live(folder: Path, *, but: str) -> Iterator[tuple[str, int]]:
    for file in folder.glob("*.claim"):
        with suppress(FileNotFoundError), file.open("rb") as other:
            if _locked(other):
                if file.stem != but:
                    yield file.stem, int(json.loads(other.read() or b"0"))
            else:
                file.unlink(missing_ok=True)


def _locked(file: BinaryIO) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    return False


def _foreign(loaded: Iterable[str], claimed: set[str]) -> int:
    """Loaded adapters that belong to no run with a claim."""
    names = [AdapterName.parse(name) for name in loaded]
    return sum(name is None or name.run not in claimed for name in names)
