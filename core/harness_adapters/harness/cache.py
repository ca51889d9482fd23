"""Installed programs in a cache folder: whole or not at all, and made only once.

An installation is filled in a folder of its own and renamed into place, under a lock that holds
across processes and ends with the process that took it. Next to it lies an inventory (relative
path and size of every file), so that one that has lost or shortened files since is found and
redone. Files that were added later do no harm and are not noticed.
"""

from __future__ import annotations

import asyncio
import fcntl
import logging
import os
import re
import shutil
import stat
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from pathlib import Path

import orjson

from harness_adapters.errors import MissingPrerequisite

log = logging.getLogger(__name__)

_NAME = re.compile(r"[A-Za-z0-9@_+][A-Za-z0-9@_+.-]*")
_LOCK_POLL_SECONDS = 0.2
_ONLY_INSTALLED: ContextVar[bool] = ContextVar("only_installed", default=False)


def cache_folder() -> Path:
    """``$HA_CACHE``, else ``$XDG_CACHE_HOME/harness-adapters``, else
    ``~/.cache/harness-adapters``. A relative ``XDG_CACHE_HOME`` is ignored, as its specification
    asks.

    :raises MissingPrerequisite: this user has no home folder.
    """
    if own := os.environ.get("HA_CACHE"):
        return Path(own).absolute()
    xdg = Path(os.environ.get("XDG_CACHE_HOME", ""))
    try:
        return (xdg if xdg.is_absolute() else Path.home() / ".cache") / "harness-adapters"
    except RuntimeError:
        raise MissingPrerequisite("this user has no home folder; set HA_CACHE") from None


@contextmanager
def only_installed(wanted: bool = True) -> Iterator[None]:
    """While this is open, nothing is installed: what is not there is a missing prerequisite."""
    before = _ONLY_INSTALLED.set(wanted)
    try:
        yield
    finally:
        _ONLY_INSTALLED.reset(before)


async def install_once(
    name: str, fill: Callable[[Path], Awaitable[None]], *, cache: Path | None = None
) -> Path:
    """The folder of the installation ``name``, made by ``fill`` unless it is there and whole.

    :param name: one path segment that says all that the content depends on (package, version,
        machine).
    :param fill: puts the files into an empty folder; whatever it raises leaves no trace.
    :param cache: instead of :func:`cache_folder`.
    :raises MissingPrerequisite: the cache folder cannot be written; or it is not there, within
        :func:`only_installed`.
    """
    if not _NAME.fullmatch(name):
        raise ValueError(f"not a name for an installation: {name!r}")
    root = cache or cache_folder()
    folder = root / name
    if await asyncio.to_thread(_is_whole, folder):
        return folder
    if _ONLY_INSTALLED.get():
        raise MissingPrerequisite(f"{name} is not installed")
    try:
        root.mkdir(parents=True, exist_ok=True)
        async with _locked(root / f".{name}.lock", name):
            if not await asyncio.to_thread(_is_whole, folder):
                await _install(root, folder, fill)
    except OSError as error:
        raise MissingPrerequisite(
            f"cannot install {name} into {root}: {error.strerror or error}; "
            "set HA_CACHE to a folder that can be written and has room"
        ) from error
    return folder


async def _install(root: Path, folder: Path, fill: Callable[[Path], Awaitable[None]]) -> None:
    unfinished = f".{folder.name}.part-"
    for stale in root.glob(f"{unfinished}*"):  # the lock is ours: nobody is filling these
        await asyncio.to_thread(shutil.rmtree, stale, ignore_errors=True)
    if folder.exists():
        log.warning("%s is installed again: %s", folder, _fault(folder))
    part = Path(tempfile.mkdtemp(prefix=unfinished, dir=root))
    try:
        await fill(part)
        await asyncio.to_thread(_seal, part, _inventory_of(folder))
        if folder.exists():
            await asyncio.to_thread(shutil.rmtree, folder)
        part.rename(folder)
    except BaseException:
        shutil.rmtree(part, ignore_errors=True)
        raise


@asynccontextmanager
async def _locked(path: Path, name: str) -> AsyncIterator[None]:
    # Polled, since a blocking flock in a thread could not be cancelled.
    with path.open("a") as file:
        waited = False
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if not waited:
                    log.info("waiting for another process that installs %s", name)
                waited = True
                await asyncio.sleep(_LOCK_POLL_SECONDS)
        yield


def _inventory_of(folder: Path) -> Path:
    return folder.with_name(f".{folder.name}.files.json")


def _seal(part: Path, inventory: Path) -> None:
    """Write the inventory; let everybody read, since a sandbox's user is not ours."""
    sizes: dict[str, int] = {}
    part.chmod(0o755)
    for parent, folders, files in os.walk(part):
        for child in folders + files:
            path = Path(parent, child)
            status = path.lstat()
            if stat.S_ISLNK(status.st_mode):
                continue
            executable = stat.S_ISDIR(status.st_mode) or status.st_mode & stat.S_IXUSR
            path.chmod(status.st_mode | (0o555 if executable else 0o444))
            if stat.S_ISREG(status.st_mode):
                sizes[str(path.relative_to(part))] = status.st_size
    draft = inventory.with_suffix(".new")
    draft.write_bytes(orjson.dumps(sizes))
    draft.replace(inventory)


def _is_whole(folder: Path) -> bool:
    return not _fault(folder)


def _fault(folder: Path) -> str:
    """What makes an installation unusable, for a person; empty when it is whole."""
    try:
        sizes: dict[str, int] = orjson.loads(_inventory_of(folder).read_bytes())
        for name, size in sizes.items():
            found = (folder / name).lstat().st_size
            if found != size:
                return f"{name} has {found} bytes, not {size}"
    except (OSError, ValueError, AttributeError) as error:
        return str(error)
    return "" if sizes else "its inventory is empty"
