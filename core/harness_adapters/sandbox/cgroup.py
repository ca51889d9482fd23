"""A cgroup per sandbox, where this process may make one: memory and processes as a whole.

Version 1 and 2 are both served. What a sandbox keeps in its tmpfs folders counts as its memory.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from harness_adapters.sandbox.reaper import PREFIX, Lease

ROOT = Path("/sys/fs/cgroup")
_EMPTY_SECONDS = 5.0
_WHERE_SWAP_IS_COUNTED = ("memory.swap.max", "memory.memsw.limit_in_bytes")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cgroup:
    """Folders that hold one sandbox's limits; a process is in it once it is added."""

    lease: Lease

    @classmethod
    def make(cls, *, memory_bytes: int, processes: int, root: Path = ROOT) -> Cgroup | None:
        """``None`` where this process may not make one, or none that limits anything."""
        settings = _settings(root, memory_bytes, processes)
        if not settings:
            return None
        lease = Lease.take(cgroups=tuple(settings))
        try:
            for folder, values in settings.items():
                folder.mkdir()
                for name, value in values.items():
                    if name not in _WHERE_SWAP_IS_COUNTED or (folder / name).exists():
                        (folder / name).write_text(str(value))
        except OSError:
            lease.release()
            return None
        return cls(lease=lease)

    def add(self, pid: int) -> None:
        for folder in self.lease.cgroups:
            (folder / "cgroup.procs").write_text(str(pid))

    async def remove(self) -> None:
        """Remove it once its processes are gone; what takes too long is left to ``reap()``."""
        with suppress(TimeoutError):
            async with asyncio.timeout(_EMPTY_SECONDS):
                while True:
                    self.lease.release()
                    if not self.lease.file.exists():
                        return
                    await asyncio.sleep(0.01)


def memory_group(pid: int, name: str) -> Path | None:
    """The cgroup that limits a process's memory, where it is visible here and bears this name."""
    try:
        groups = _groups(pid)
    except OSError:
        return None
    if (path := groups.get("memory")) is not None:
        folder = ROOT / "memory" / path.lstrip("/")
    else:
        folder = ROOT / groups.get("", "").lstrip("/")
    return folder if name in folder.name and folder.is_dir() else None


def memory_kills(group: Path) -> int:
    """How many of its processes were killed because its memory had run out."""
    for name in ("memory.events", "memory.oom_control"):
        try:
            counters = dict(line.split() for line in (group / name).read_text().splitlines())
        except OSError:
            continue  # of the other version, or gone
        return int(counters.get("oom_kill", 0))
    return 0


def _settings(root: Path, memory: int, processes: int) -> dict[Path, Mapping[str, int]]:
    """The folders to make, and what to write into which of their files."""
    name = f"{PREFIX}{secrets.token_hex(8)}"
    if (root / "cgroup.controllers").exists():
        # Only the root of the hierarchy may hold both processes and groups with limits.
        enabled = _words(root / "cgroup.subtree_control")
        if not {"memory", "pids"} <= enabled:
            return {}
        return {root / name: {"memory.max": memory, "memory.swap.max": 0, "pids.max": processes}}
    own = _groups("self")
    parents: dict[str, Path] = {}
    for controller in ("memory", "pids"):
        top = root / controller
        parent = top / own.get(controller, "").lstrip("/")
        parents[controller] = parent if parent.is_dir() else top
    if not all(parent.is_dir() for parent in parents.values()):
        return {}
    return {
        parents["memory"] / name: {
            "memory.limit_in_bytes": memory,
            "memory.memsw.limit_in_bytes": memory,
        },
        parents["pids"] / name: {"pids.max": processes},
    }


def _groups(pid: int | str) -> dict[str, str]:
    """Controller -> path of a process's cgroup; version 2 has one for all, named ``""``."""
    groups: dict[str, str] = {}
    for line in Path(f"/proc/{pid}/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        groups.update(dict.fromkeys(controllers.split(","), path))
    return groups


def _words(file: Path) -> set[str]:
    try:
        return set(file.read_text().split())
    except OSError:
        return set()
