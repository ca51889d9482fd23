"""Leases on whatever could outlive this process, and their end when its owner is gone.

A lease is a small file, written before the thing that it names is made. It names the owner by pid
and start time, so that another process with the same pid is not taken for it. ``reap()`` removes
what dead owners left; any number of processes may run it at once.
"""

from __future__ import annotations

import fcntl
import json
import os
import secrets
import stat
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness_adapters.errors import MissingPrerequisite

PREFIX = "ha-"  # of every folder and cgroup that may be reaped
_MAX_SOCKET_PATH = 107  # the kernel's limit
_SOCKET_NAME = 16  # room for a name below the folder


def state_folder() -> Path:
    """Where this user's leases are.

    :raises MissingPrerequisite: it cannot be made.
    """
    try:
        home = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    except RuntimeError:
        raise MissingPrerequisite("this user has no home folder; set XDG_STATE_HOME") from None
    folder = Path(home) / "harness-adapters" / "leases"
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise MissingPrerequisite(
            f"cannot make the state folder {folder} ({error.strerror}); set XDG_STATE_HOME"
        ) from None
    return folder


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """This process's claim on folders and cgroups, which are removed with it."""

    file: Path
    folders: tuple[Path, ...]
    cgroups: tuple[Path, ...]

    @classmethod
    def take(cls, *, folders: Sequence[Path] = (), cgroups: Sequence[Path] = ()) -> Lease:
        file = state_folder() / f"{secrets.token_hex(8)}.lease"
        content = {
            "owner": this_process(),
            "folders": [str(path) for path in folders],
            "cgroups": [str(path) for path in cgroups],
        }
        draft = file.with_suffix(".draft")
        draft.write_text(json.dumps(content))
        draft.rename(file)
        return cls(file=file, folders=tuple(folders), cgroups=tuple(cgroups))

    def release(self) -> None:
        """Remove what it names, then the lease; a cgroup that is in use keeps the lease."""
        if not _remove(self.folders, self.cgroups):
            self.file.unlink(missing_ok=True)


@contextmanager
def leased_folder(purpose: str) -> Iterator[Path]:
    """A private temporary folder, removed at the end or, after a ``SIGKILL``, by ``reap()``.

    Its path leaves room for a unix socket in it: below ``/tmp`` where ``TMPDIR`` is too long.
    """
    name = f"{PREFIX}{purpose}-{secrets.token_hex(8)}"
    folder = Path(tempfile.gettempdir()) / name
    if len(os.fsencode(folder)) > _MAX_SOCKET_PATH - _SOCKET_NAME:
        folder = Path("/tmp") / name
    lease = Lease.take(folders=(folder,))
    try:
        folder.mkdir(mode=0o700)
        yield folder
    finally:
        lease.release()


def reap() -> list[Path]:
    """Remove what owners that are gone have left; the paths that were removed."""
    removed: list[Path] = []
    for file in sorted(state_folder().glob("*.lease")):
        with suppress(FileNotFoundError), file.open("rb") as lease:
            try:
                fcntl.flock(lease, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue  # another one is at it
            content = _parse(lease.read())
            if content is None:
                file.unlink(missing_ok=True)
                continue
            owner, folders, cgroups = content
            if lives(owner):
                continue
            there = [path for path in (*folders, *cgroups) if path.exists()]
            left = _remove(folders, cgroups)
            removed += [path for path in there if path not in left]
            if not left:
                file.unlink(missing_ok=True)
    return removed


def _parse(data: bytes) -> tuple[list[Any], list[Path], list[Path]] | None:
    try:
        content = json.loads(data)
        paths = [[Path(path) for path in content[key]] for key in ("folders", "cgroups")]
        return list(content["owner"]), paths[0], paths[1]
    except (ValueError, KeyError, TypeError):
        return None  # no lease of ours


def _remove(folders: Sequence[Path], cgroups: Sequence[Path]) -> list[Path]:
    """Remove them; those that are still there."""
    for path in folders:
        if path.name.startswith(PREFIX) and not path.is_symlink():
            remove_tree(path)
    for path in cgroups:
        if path.name.startswith(PREFIX):
            with suppress(OSError):
                path.rmdir()
    return [path for path in (*folders, *cgroups) if path.exists()]


def remove_tree(folder: Path) -> None:
    """Remove a folder, however deep, and also what was made unwritable in it."""
    _rm(folder)
    if folder.exists():
        with suppress(OSError, RecursionError):
            folder.chmod(stat.S_IRWXU)
            for _, names, _, parent in os.fwalk(folder):
                for name in names:
                    if not stat.S_ISLNK(os.lstat(name, dir_fd=parent).st_mode):
                        os.chmod(name, stat.S_IRWXU, dir_fd=parent)
        _rm(folder)


def _rm(folder: Path) -> None:
    # not shutil.rmtree, which recurses: what is nested deep enough would be left
    subprocess.run(["rm", "-rf", "--", str(folder)], stderr=subprocess.DEVNULL, check=False)


def this_process() -> list[Any]:
    """Names this process as an owner, also among those to come."""
    return [os.getpid(), _start_time(os.getpid()), _boot()]


def lives(owner: Sequence[Any]) -> bool:
    """Whether the process that called ``this_process()`` still runs."""
    pid, started, boot = owner
    return bool(boot == _boot() and started == _start_time(pid))


def _start_time(pid: int) -> int | None:
    """In clock ticks after boot; ``None`` when there is no such process or only its remains."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return None
    return None if fields[0] in (b"Z", b"X") else int(fields[19])


def _boot() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
