"""What lies in a bundle's folder: listed once, bounded, and never outside the folder."""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path

from harness_adapters.errors import BrokenTask

MAX_FILES = 5_000
MAX_FILE_BYTES = 64 * 1024 * 1024
MAX_BUNDLE_BYTES = 256 * 1024 * 1024
_LEFT_OUT = frozenset({"__pycache__", ".git", ".DS_Store"})  # local leftovers, no part of a task


def list_files(folder: Path) -> dict[str, str]:
    """Every file below ``folder``: relative POSIX path -> path on the host, sorted by path.
    (Plain strings, since a set may have tens of thousands of files.)

    ``__pycache__`` and the like are left out.

    :raises BrokenTask: a symbolic link (it could show an agent what grades it, or a file of the
        host), a special file, or more than 5,000 files, 64 MiB in one or 256 MiB in all.
    """
    found: dict[str, str] = {}
    total = 0
    for relative, entry in _walk(folder):
        status = _status(folder, relative, entry)
        total += status.st_size
        if status.st_size > MAX_FILE_BYTES or total > MAX_BUNDLE_BYTES or len(found) >= MAX_FILES:
            raise BrokenTask(
                f"{folder / relative}: the bundle is too large (at most {MAX_FILES} files, "
                f"{MAX_FILE_BYTES >> 20} MiB in one file, {MAX_BUNDLE_BYTES >> 20} MiB in all)"
            )
        found[relative] = entry.path
    return dict(sorted(found.items()))


def sha256(files: dict[str, str]) -> str:
    """Hash over names, executable bits and contents; the same on every machine.

    :raises BrokenTask: a file cannot be read.
    """
    digest = hashlib.sha256()
    for relative, path in files.items():
        try:
            with open(path, "rb", buffering=0) as file:  # noqa: PTH123
                content = file.readall()
                executable = os.fstat(file.fileno()).st_mode & 0o100 != 0
        except OSError as error:
            raise BrokenTask(f"{path}: cannot be read ({error.strerror})") from None
        name = os.fsencode(relative)
        digest.update(b"%d:%b:%d:%d:" % (len(name), name, executable, len(content)))
        digest.update(content)
    return digest.hexdigest()


def read_text(path: Path, *, max_bytes: int) -> str:
    """A small UTF-8 file.

    :raises BrokenTask: it is missing, no regular file, larger than ``max_bytes`` or no UTF-8.
    """
    try:
        with path.open("rb") as file:
            content = file.read(max_bytes + 1)
        if len(content) > max_bytes:
            raise BrokenTask(f"{path}: larger than {max_bytes} bytes")
        return content.decode()
    except FileNotFoundError:
        raise BrokenTask(f"{path}: there is no such file") from None
    except OSError as error:
        raise BrokenTask(f"{path}: cannot be read ({error.strerror})") from None
    except UnicodeDecodeError as error:
        raise BrokenTask(f"{path}: not UTF-8 at byte {error.start}") from None


def copy(source: Path, target: Path) -> None:
    """One file, with its executable bit and no other right; folders above it are made.

    :raises BrokenTask: it cannot be read, or something else is in its place.
    """
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)
        target.chmod(0o755 if source.stat().st_mode & 0o100 else 0o644)
    except OSError as error:
        raise BrokenTask(f"{source}: cannot be copied ({error.strerror})") from None


def _walk(folder: Path) -> Iterator[tuple[str, os.DirEntry[str]]]:
    pending = [(str(folder), "")]
    while pending:
        path, prefix = pending.pop()
        try:
            with os.scandir(path) as entries:
                for entry in entries:
                    if entry.name in _LEFT_OUT:
                        continue
                    if entry.is_dir(follow_symlinks=False):
                        pending.append((entry.path, f"{prefix}{entry.name}/"))
                    else:
                        yield f"{prefix}{entry.name}", entry
        except OSError as error:
            raise BrokenTask(f"{path}: cannot be read ({error.strerror})") from None


def _status(folder: Path, relative: str, entry: os.DirEntry[str]) -> os.stat_result:
    if entry.is_symlink():
        raise BrokenTask(f"{folder / relative}: a symbolic link; a bundle holds plain files only")
    status = entry.stat(follow_symlinks=False)
    if not stat.S_ISREG(status.st_mode):
        raise BrokenTask(f"{folder / relative}: neither a regular file nor a folder")
    return status
