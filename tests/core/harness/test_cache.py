"""Installations are whole or not there, and made once, also by two at a time."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import pytest

from harness_adapters import MissingPrerequisite
from harness_adapters.harness.cache import cache_folder, install_once


class Installer:
    """Fills a folder and counts how often it was asked to."""

    def __init__(self) -> None:
        self.calls = 0

    async def __call__(self, folder: Path) -> None:
        self.calls += 1
        (folder / "bin").mkdir()
        (folder / "bin/tool").write_text("#!/bin/sh\n")
        (folder / "bin/tool").chmod(0o700)
        await asyncio.sleep(0)
        (folder / "data").write_text("data")
        (folder / "data").chmod(0o600)


async def test_the_second_time_nothing_is_done(tmp_path: Path) -> None:
    fill = Installer()

    first = await install_once("tool@1", fill, cache=tmp_path)
    second = await install_once("tool@1", fill, cache=tmp_path)

    assert first == second == tmp_path / "tool@1"
    assert fill.calls == 1
    assert (first / "data").read_text() == "data"


async def test_many_at_once_install_once(tmp_path: Path) -> None:
    fill = Installer()

    await asyncio.gather(*(install_once("tool@1", fill, cache=tmp_path) for _ in range(8)))

    assert fill.calls == 1


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda folder: (folder / "data").unlink(), id="a file is gone"),
        pytest.param(lambda folder: (folder / "data").write_text("da"), id="a file is shorter"),
        pytest.param(
            lambda folder: (folder.parent / f".{folder.name}.files.json").write_text("{"),
            id="the inventory is torn",
        ),
        pytest.param(
            lambda folder: (folder.parent / f".{folder.name}.files.json").unlink(),
            id="the inventory is gone",
        ),
    ],
)
async def test_a_damaged_one_is_redone(tmp_path: Path, damage: object) -> None:
    fill = Installer()
    folder = await install_once("tool@1", fill, cache=tmp_path)
    assert callable(damage)
    damage(folder)

    await install_once("tool@1", fill, cache=tmp_path)

    assert fill.calls == 2
    assert (folder / "data").read_text() == "data"


async def test_what_was_added_later_does_no_harm(tmp_path: Path) -> None:
    fill = Installer()
    folder = await install_once("tool@1", fill, cache=tmp_path)
    (folder / ".cache").write_text("compiled")

    await install_once("tool@1", fill, cache=tmp_path)

    assert fill.calls == 1


async def test_a_failed_one_leaves_nothing_and_is_tried_again(tmp_path: Path) -> None:
    async def fail(folder: Path) -> None:
        (folder / "half").write_text("half")
        raise MissingPrerequisite("no network")

    with pytest.raises(MissingPrerequisite, match="no network"):
        await install_once("tool@1", fail, cache=tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [".tool@1.lock"]

    await install_once("tool@1", Installer(), cache=tmp_path)


async def test_what_a_killed_process_left_is_removed(tmp_path: Path) -> None:
    stale = tmp_path / ".tool@1.part-abc"
    (stale / "deep").mkdir(parents=True)

    await install_once("tool@1", Installer(), cache=tmp_path)

    assert not stale.exists()


async def test_a_process_that_dies_gives_the_lock_back(tmp_path: Path) -> None:
    holder = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        "import fcntl, sys; f = open(sys.argv[1], 'a'); fcntl.flock(f, fcntl.LOCK_EX);"
        "print('held', flush=True); sys.stdin.read()",
        str(tmp_path / ".tool@1.lock"),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert holder.stdout is not None
    await holder.stdout.readline()
    fill = Installer()
    waiting = asyncio.create_task(install_once("tool@1", fill, cache=tmp_path))
    await asyncio.wait({waiting}, timeout=0.3)
    assert (waiting.done(), fill.calls) == (False, 0)
    holder.kill()
    await holder.wait()
    await asyncio.wait_for(waiting, 10.0)
    assert fill.calls == 1


async def test_a_cancelled_one_can_be_started_again(tmp_path: Path) -> None:
    entered = asyncio.Event()

    async def hang(folder: Path) -> None:
        entered.set()
        await asyncio.Event().wait()

    task = asyncio.create_task(install_once("tool@1", hang, cache=tmp_path))
    await entered.wait()
    task.cancel()
    await asyncio.wait({task})

    await asyncio.wait_for(install_once("tool@1", Installer(), cache=tmp_path), 10.0)


async def test_everybody_may_read_it(tmp_path: Path) -> None:
    folder = await install_once("tool@1", Installer(), cache=tmp_path)

    assert folder.stat().st_mode & 0o777 == 0o755
    assert (folder / "bin").stat().st_mode & 0o555 == 0o555
    assert (folder / "bin/tool").stat().st_mode & 0o555 == 0o555
    assert (folder / "data").stat().st_mode & 0o777 == 0o644


async def test_a_cache_that_cannot_be_written_is_said_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(MissingPrerequisite, match="HA_CACHE"):
        await install_once("tool@1", Installer(), cache=tmp_path / "file")


@pytest.mark.parametrize("name", ["", "..", ".hidden", "a/b", "/abs"])
async def test_a_name_is_one_path_segment(tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError, match="not a name"):
        await install_once(name, Installer(), cache=tmp_path)


def test_where_the_cache_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("HA_CACHE", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert cache_folder() == tmp_path / "home/.cache/harness-adapters"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert cache_folder() == tmp_path / "home/.cache/harness-adapters"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_folder() == tmp_path / "xdg/harness-adapters"
    monkeypatch.setenv("HA_CACHE", os.path.relpath(tmp_path / "own"))
    assert cache_folder() == (Path.cwd() / os.path.relpath(tmp_path / "own")).absolute()


def test_no_home_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def nobody() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("HA_CACHE", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", nobody)
    with pytest.raises(MissingPrerequisite, match="HA_CACHE"):
        cache_folder()
