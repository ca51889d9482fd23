"""A task's files: read from the bundle, put into a sandbox, and found again in what was left."""

from __future__ import annotations

import posixpath
from pathlib import Path

from harness_adapters.errors import BrokenTask
from harness_adapters.sandbox.base import MIB, FileEntry, Sandbox, User
from harness_adapters.tasks.contents import list_files
from harness_adapters.types import Task

MAX_TREE_BYTES = 256 * MIB


def writable_folders(task: Task) -> dict[str, int]:
    """Folders that a sandbox for this task must have writable, with their size limits in bytes:
    the working folder, a home, ``/tmp``, and wherever else the task's files and folders are."""
    wanted = {task.workdir: MAX_TREE_BYTES, "/home/agent": 128 * MIB, "/tmp": 256 * MIB}
    places = [
        place if source.is_dir() else posixpath.dirname(place)
        for place, source in task.files.items()
    ]
    for folder in (*places, *task.folders):
        if not any(_below(folder, known) for known in wanted):
            wanted = {known: size for known, size in wanted.items() if not _below(known, folder)}
            wanted[folder] = MAX_TREE_BYTES
    return wanted


def read_folder(folder: Path) -> dict[str, FileEntry]:
    """Every file below a folder on the host, by relative path, with its executable bit.

    :raises BrokenTask: a link that leaves the folder, a special file, too much.
    """
    return {relative: _entry(Path(path)) for relative, path in list_files(folder).items()}


def original_files(task: Task) -> dict[str, FileEntry]:
    """What the task starts from: absolute path inside -> content, folders expanded."""
    found: dict[str, FileEntry] = {}
    for place, source in task.files.items():
        if source.is_dir():
            for relative, entry in read_folder(source).items():
                found[posixpath.join(place, relative)] = entry
        else:
            found[place] = _entry(source)
    return found


def original_tree(task: Task) -> dict[str, FileEntry]:
    """The part of ``original_files`` below the working folder, by relative path."""
    start = task.workdir + "/"
    return {
        place.removeprefix(start): entry
        for place, entry in original_files(task).items()
        if place.startswith(start)
    }


async def put_files(
    task: Task, sandbox: Sandbox, *, user: User = User.AGENT, without: str | None = None
) -> None:
    """Put the task's files and folders where its agent expects them.

    :param without: a folder inside that is left out, with what it holds.
    :raises BrokenTask: they are in an image only, and the sandbox does not run it.
    :raises InfraError: the sandbox does not take them.
    """
    if task.needs_image and not sandbox.spec.image:
        raise BrokenTask(task.needs_image)
    made = [folder for folder in task.folders if without is None or not _below(folder, without)]
    if made:
        result = await sandbox.exec(["mkdir", "-p", "--", *map(sandbox.path, made)], cwd="/")
        if result.returncode:
            raise BrokenTask(f"{task.path}: cannot make {made}: {result.stderr[:200]!r}")
    by_folder: dict[str, dict[str, FileEntry]] = {}
    folders = sorted(writable_folders(task), key=len, reverse=True)
    for place, entry in original_files(task).items():
        if without is not None and _below(place, without):
            continue
        folder = next((folder for folder in folders if _below(place, folder)), None)
        if folder is None:
            raise BrokenTask(f"{task.path}: {place} is in no folder of the sandbox")
        by_folder.setdefault(folder, {})[posixpath.relpath(place, folder)] = entry
    for folder, files in by_folder.items():
        await sandbox.put(files, at=folder, user=user)


def _below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def _entry(path: Path) -> FileEntry:
    try:
        executable = path.stat().st_mode & 0o100
        return FileEntry(content=path.read_bytes(), mode=0o755 if executable else 0o644)
    except OSError as error:
        raise BrokenTask(f"{path}: cannot be read ({error.strerror})") from None
