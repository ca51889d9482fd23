"""The layout of both versions; ``test_isolation`` shows the limits at work."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

import pytest

from harness_adapters.sandbox.cgroup import Cgroup, memory_group, memory_kills


def test_version_2_needs_its_controllers(tmp_path: Path) -> None:
    (tmp_path / "cgroup.controllers").write_text("memory pids")
    (tmp_path / "cgroup.subtree_control").write_text("memory")
    assert Cgroup.make(memory_bytes=1, processes=1, root=tmp_path) is None


async def test_version_2(tmp_path: Path) -> None:
    (tmp_path / "cgroup.controllers").write_text("cpu memory pids")
    (tmp_path / "cgroup.subtree_control").write_text("memory pids")
    group = Cgroup.make(memory_bytes=1000, processes=7, root=tmp_path)
    assert group is not None
    (folder,) = group.lease.cgroups
    assert folder.parent == tmp_path
    assert (folder / "memory.max").read_text() == "1000"
    assert (folder / "pids.max").read_text() == "7"
    group.add(42)
    assert (folder / "cgroup.procs").read_text() == "42"


def test_version_1(tmp_path: Path) -> None:
    for controller in ("memory", "pids"):
        (tmp_path / controller).mkdir()
    group = Cgroup.make(memory_bytes=1000, processes=7, root=tmp_path)
    assert group is not None
    memory, pids = group.lease.cgroups
    assert (memory / "memory.limit_in_bytes").read_text() == "1000"
    assert (pids / "pids.max").read_text() == "7"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("memory.events", "low 0\noom 5\noom_kill 2\n"),
        ("memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n"),
    ],
)
def test_kills_are_counted_in_both_versions(tmp_path: Path, name: str, text: str) -> None:
    assert memory_kills(tmp_path) == 0
    (tmp_path / name).write_text(text)
    assert memory_kills(tmp_path) == 2


def test_the_group_of_another_process_is_not_taken() -> None:
    assert memory_group(os.getpid(), secrets.token_hex(8)) is None
    assert memory_group(2**22 + 1, "x") is None


def test_nowhere_to_make_one(tmp_path: Path, state_folder: Path) -> None:
    assert Cgroup.make(memory_bytes=1, processes=1, root=tmp_path) is None
    assert not list(state_folder.rglob("*.lease"))


async def test_removal_leaves_no_lease(
    tmp_path: Path, state_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "cgroup.controllers").write_text("memory pids")
    (tmp_path / "cgroup.subtree_control").write_text("memory pids")
    group = Cgroup.make(memory_bytes=1, processes=1, root=tmp_path)
    assert group is not None
    for file in group.lease.cgroups[0].iterdir():
        file.unlink()  # a real cgroup's files go with it
    await group.remove()
    assert list(tmp_path.glob("ha-*")) == []
    assert not list(state_folder.rglob("*.lease"))
