"""What a session costs the machine: CPU time and memory of everything that ran in its sandbox."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from harness_adapters import Sandbox, SandboxProvider, SandboxSpec

_EVERY_SECONDS = 0.2


@dataclass
class Cost:
    """
    :ivar cpu_seconds: of all processes of the agent's sandbox, the supervisor included, from its
        opening until everything in it was ended.
    :ivar peak_mb: the largest sum of their proportional set sizes, looked at five times a second.
    """

    cpu_seconds: float = 0.0
    peak_mb: float = 0.0


class Metered:
    """Opens bubblewrap's sandboxes for one rollout, and meters the first that has a way out: the
    agent's. A verifier's may have one too."""

    def __init__(self, inner: SandboxProvider, cost: Cost) -> None:
        self._inner = inner
        self._cost = cost
        self._metering = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def open(self, spec: SandboxSpec) -> AbstractAsyncContextManager[Sandbox]:
        if self._metering or not spec.outlet:
            return self._inner.open(spec)
        self._metering = True
        return self._open(spec)

    @asynccontextmanager
    async def _open(self, spec: SandboxSpec) -> AsyncIterator[Any]:
        async with self._inner.open(spec) as sandbox:
            bwrap = psutil.Process(sandbox._link._process.pid)  # type: ignore[attr-defined]
            (first,) = bwrap.children()
            watching = asyncio.create_task(self._watch(first))
            try:
                yield _MeteredSandbox(sandbox, first.pid, self._cost)
            finally:
                watching.cancel()

    async def _watch(self, first: psutil.Process) -> None:
        while True:
            self._cost.peak_mb = max(self._cost.peak_mb, await asyncio.to_thread(_memory, first))
            await asyncio.sleep(_EVERY_SECONDS)


class _MeteredSandbox:
    def __init__(self, sandbox: Sandbox, first: int, cost: Cost) -> None:
        self._sandbox, self._first, self._cost = sandbox, first, cost

    def __getattr__(self, name: str) -> Any:
        return getattr(self._sandbox, name)

    async def freeze(self) -> None:
        await self._sandbox.freeze()
        self._cost.cpu_seconds = _cpu(self._first)


def _cpu(first: int) -> float:
    """Of the namespace's first process and all that it has waited for, which is all the others."""
    fields = Path(f"/proc/{first}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def _memory(first: psutil.Process) -> float:
    total = 0
    with suppress(psutil.Error):
        for process in [first, *first.children(recursive=True)]:
            with suppress(psutil.Error, OSError):
                total += _proportional(process.pid)
    return total / 1024


def _proportional(pid: int) -> int:
    """Proportional set size in KiB."""
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1])
    return 0
