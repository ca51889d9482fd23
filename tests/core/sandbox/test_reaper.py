from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from harness_adapters.errors import MissingPrerequisite
from harness_adapters.sandbox import reaper
from harness_adapters.sandbox.reaper import Lease, leased_folder, reap, remove_tree

TAKE_AND_DIE = """
import os, sys
from pathlib import Path
from harness_adapters.sandbox.reaper import Lease
for path in sys.argv[1:]:
    Lease.take(folders=[Path(path)])
    Path(path).mkdir()
os._exit(0)
"""


def leave_behind(*folders: Path) -> None:
    subprocess.run([sys.executable, "-c", TAKE_AND_DIE, *map(str, folders)], check=True)


def test_a_leased_folder_is_private_and_goes_away(state_folder: Path) -> None:
    with leased_folder("gateway") as folder:
        assert folder.stat().st_mode & 0o777 == 0o700
        assert reap() == []
        assert folder.exists()
    assert not folder.exists()
    assert list(state_folder.rglob("*.lease")) == []


def test_a_socket_fits_into_a_leased_folder_wherever_temporary_files_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for length in (1, 40, 80, 200):
        place = tmp_path / ("x" * length)
        place.mkdir()
        monkeypatch.setattr(tempfile, "tempdir", str(place))
        with leased_folder("gateway") as folder, socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(folder / "gateway.sock"))
        assert not folder.exists()


def test_what_a_dead_owner_left_is_reaped_once(tmp_path: Path, state_folder: Path) -> None:
    folders = [tmp_path / f"ha-{n}" for n in range(6)]
    leave_behind(*folders)
    with ThreadPoolExecutor(4) as pool:
        removed = [path for paths in pool.map(lambda _: reap(), range(4)) for path in paths]
    assert sorted(removed) == folders
    assert not any(folder.exists() for folder in folders)
    assert list(state_folder.rglob("*.lease")) == []


def test_a_recycled_pid_is_not_the_owner(tmp_path: Path) -> None:
    folder = tmp_path / "ha-folder"
    lease = Lease.take(folders=[folder])
    folder.mkdir()
    content = json.loads(lease.file.read_text())
    content["owner"][1] -= 1
    lease.file.write_text(json.dumps(content))
    assert reap() == [folder]


def test_only_what_this_package_made_is_removed(tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.mkdir()
    link = tmp_path / "ha-link"
    link.symlink_to(precious)
    for path in (precious, link):
        lease = Lease.take(folders=[path])
        content = json.loads(lease.file.read_text())
        content["owner"][0] = 2**22 + 1
        lease.file.write_text(json.dumps(content))
    reap()
    assert precious.is_dir()


def test_a_torn_lease_is_dropped(state_folder: Path) -> None:
    file = reaper.state_folder() / "torn.lease"
    file.write_text('{"owner": [1')
    assert reap() == []
    assert not file.exists()


def test_a_tree_that_resists_is_removed(tmp_path: Path) -> None:
    top = tmp_path / "ha-top"
    (top / "locked" / "in").mkdir(parents=True)
    (top / "locked" / "in" / "file").touch()
    (top / "locked" / "in").chmod(0)
    (top / "locked").chmod(0)
    outside = tmp_path / "outside"
    outside.mkdir(mode=0o500)
    (top / "link").symlink_to(outside)
    deep = os.open(top, os.O_DIRECTORY)
    for _ in range(1200):
        os.mkdir("d", dir_fd=deep)
        below = os.open("d", os.O_DIRECTORY, dir_fd=deep)
        os.close(deep)
        deep = below
    os.close(deep)
    remove_tree(top)
    assert not top.exists()
    assert outside.stat().st_mode & 0o777 == 0o500


def test_an_unwritable_state_folder_is_told(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    with pytest.raises(MissingPrerequisite, match="XDG_STATE_HOME"):
        reap()


def test_no_home_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def nobody() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.setattr(Path, "home", nobody)
    with pytest.raises(MissingPrerequisite, match="XDG_STATE_HOME"):
        reap()
