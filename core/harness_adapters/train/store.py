"""The versions of one run's adapter on disk, as PEFT folders.

A version is staged under a temporary name and renamed when it is whole, so that a server never
reads half of one. Its entry in ``versions.log`` is written before the rename: a number that was
ever given out is never given out again, whatever was removed or lost in a crash.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import orjson

from harness_adapters.record import log
from harness_adapters.record.folder import write_whole
from harness_adapters.train.names import AdapterName


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """One version of an adapter.

    :ivar name: as the servers know it.
    :ivar number: the ``N`` of its name.
    :ivar step: optimizer steps that made it; ``None`` for one that only proves that a server
        applies adapters, and is never sampled from.
    :ivar path: its PEFT folder, absolute.
    """

    name: str
    number: int
    step: int | None
    path: Path


class AdapterStore:
    """``<run>/adapters``: one folder per version, named like the adapter.

    Only the process that trains the run may have it open.

    :ivar steps: adapter name -> optimizer steps behind it, of all versions that are policies.
    :ivar about: goes into each version's ``version.json``: the adapted modules and their share.
    """

    def __init__(self, folder: Path, *, model: str, harness: str, run: str) -> None:
        self.folder = folder.absolute()
        self.folder.mkdir(parents=True, exist_ok=True)
        self._parts = (model, harness, run)
        self.about: dict[str, object] = {}
        self.steps: dict[str, int] = {}
        self._log = log.Log(self.folder / "versions.log")
        self._highest = 0
        for record in log.read(self.folder / "versions.log"):
            self._note(record["name"], record["number"], record["step"])
        for path in self.folder.glob(".*.staged"):
            shutil.rmtree(path)

    def skip(self, names: Iterable[str]) -> None:
        """Never use a number at or below those that servers know under this run's id."""
        for name in map(AdapterName.parse, names):
            if name and name.run == self._parts[2] and name.version > self._highest:
                self._give_out(str(name), name.version, None)

    def add(self, save: Callable[[Path], None], *, step: int | None) -> Version:
        """Write a new version.

        :param save: writes the PEFT files into the folder that it is given.
        :param step: see ``Version``.
        """
        number = self._highest + 1
        model, harness, run = self._parts
        name = str(AdapterName(model=model, harness=harness, run=run, version=number))
        staged, final = self.folder / f".{name}.staged", self.folder / name
        staged.mkdir()
        save(staged)
        version = Version(name=name, number=number, step=step, path=final)
        facts = {"name": name, "number": number, "step": step, "created": _now(), **self.about}
        write_whole(staged / "version.json", orjson.dumps(facts, option=orjson.OPT_INDENT_2))
        sync_folder(staged)
        self._give_out(name, number, step)
        staged.rename(final)
        sync_file(self.folder)
        return version

    def remove(self, version: Version) -> None:
        """Remove a version's files, after every server has unloaded it."""
        shutil.rmtree(version.path, ignore_errors=True)

    def close(self) -> None:
        self._log.close()

    def _give_out(self, name: str, number: int, step: int | None) -> None:
        self._log.append({"name": name, "number": number, "step": step})
        self._note(name, number, step)

    def _note(self, name: str, number: int, step: int | None) -> None:
        self._highest = max(self._highest, number)
        if step is not None:
            self.steps[name] = step


def sync_folder(folder: Path) -> None:
    """Have everything below a folder on the disk before it gets its name."""
    for path in sorted(folder.rglob("*"), reverse=True):
        sync_file(path)
    sync_file(folder)


def sync_file(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
