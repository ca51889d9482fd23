"""Sandboxes of every sort. ``test_as_ordinary_user`` runs this folder again without root."""

from __future__ import annotations

import os
import shutil
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest
from containers import docker_sandboxes

from harness_adapters.sandbox.base import (
    MIB,
    ResourceLimits,
    Sandbox,
    SandboxProvider,
    SandboxSpec,
)
from harness_adapters.sandbox.bubblewrap import INSTALL
from harness_adapters.sandbox.providers import PROVIDERS

SMALL = {"/work": 8 * MIB, "/home/agent": 8 * MIB, "/tmp": 8 * MIB}

Opener = Callable[..., AbstractAsyncContextManager[Sandbox]]


@pytest.fixture(autouse=True)
def state_folder(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path_factory.mktemp("state")
    monkeypatch.setenv("XDG_STATE_HOME", str(folder))
    return folder


def _provider(name: str) -> SandboxProvider:
    if name == "docker":
        return docker_sandboxes()
    if name == "bubblewrap" and shutil.which("bwrap") is None:
        pytest.fail(f"these tests need bwrap: {INSTALL}")
    return PROVIDERS[name]()


DOCKER = pytest.param("docker", marks=pytest.mark.full)


@pytest.fixture(params=["process", "bubblewrap", DOCKER])
def sandboxes(request: pytest.FixtureRequest) -> SandboxProvider:
    """Each provider in turn."""
    return _provider(request.param)


@pytest.fixture(params=["bubblewrap", DOCKER])
def bounded(request: pytest.FixtureRequest) -> SandboxProvider:
    """Each provider with a boundary in turn."""
    return _provider(request.param)


@pytest.fixture
def bubblewrap() -> SandboxProvider:
    return _provider("bubblewrap")


@pytest.fixture
def docker() -> SandboxProvider:
    return _provider("docker")


@pytest.fixture
def small() -> SandboxSpec:
    return SandboxSpec(writable=SMALL, limits=ResourceLimits(processes=48))


@pytest.fixture
async def sandbox(sandboxes: SandboxProvider, small: SandboxSpec) -> AsyncIterator[Sandbox]:
    async with sandboxes.open(small) as opened:
        yield opened


@pytest.fixture
async def isolated(bounded: SandboxProvider, small: SandboxSpec) -> AsyncIterator[Sandbox]:
    """One of each sort that has a boundary."""
    async with bounded.open(small) as opened:
        yield opened


@pytest.fixture
def marked_processes() -> Iterator[Callable[[str], list[int]]]:
    """Host pids of processes that have a word among their arguments."""

    def find(mark: str) -> list[int]:
        found: list[int] = []
        for folder in Path("/proc").iterdir():
            if folder.name.isdigit() and int(folder.name) != os.getpid():
                try:
                    words = (folder / "cmdline").read_bytes().split(b"\0")
                except OSError:
                    continue
                if mark.encode() in words:
                    found.append(int(folder.name))
        return found

    yield find
