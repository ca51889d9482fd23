"""RF35, RF36: when the program that opened sandboxes is killed, nothing of them is left."""

from __future__ import annotations

import asyncio
import json
import secrets
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from harness_adapters.sandbox.base import SandboxProvider
from harness_adapters.sandbox.reaper import reap

PARENT = """
import asyncio, sys
from harness_adapters.sandbox.base import MIB, SandboxSpec
from harness_adapters.sandbox.providers import PROVIDERS
from harness_adapters.sandbox.reaper import leased_folder

async def main(name, mark):
    spec = SandboxSpec(writable={"/work": MIB, "/home/agent": MIB, "/tmp": MIB})
    with leased_folder("gateway") as sockets:
        async with PROVIDERS[name]().open(spec) as one, PROVIDERS[name]().open(spec) as two:
            for sandbox in (one, two):
                await sandbox.exec(["sh", "-c", f"setsid sh -c 'sleep 600; :' {mark} & echo"])
                await sandbox.spawn(["sh", "-c", "while :; do sleep 0.1; done", mark])
            print(sockets, one.path("/work"), flush=True)
            await asyncio.sleep(600)

asyncio.run(main(*sys.argv[1:]))
"""


def mounted(folders: list[Path]) -> list[str]:
    """Mounts of this machine at or below these folders."""
    lines = Path("/proc/self/mountinfo").read_text().splitlines()
    return [line for line in lines if any(str(folder) in line for folder in folders)]


async def comes(condition: Callable[[], bool], seconds: float = 30) -> bool:
    end = time.monotonic() + seconds
    while not (there := condition()) and time.monotonic() < end:  # noqa: ASYNC110
        await asyncio.sleep(0.05)
    return there


def leased(state_folder: Path) -> list[Path]:
    """Every folder and cgroup that the parent made."""
    leases = [json.loads(file.read_text()) for file in state_folder.rglob("*.lease")]
    return [Path(path) for lease in leases for path in lease["folders"] + lease["cgroups"]]


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
async def test_nothing_survives_the_parent(
    sandboxes: SandboxProvider,
    number: signal.Signals,
    state_folder: Path,
    marked_processes: Callable[[str], list[int]],
) -> None:
    """RF35 and RF36."""
    mark = f"mark-{secrets.token_hex(8)}"
    parent = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", PARENT, sandboxes.name, mark), stdout=asyncio.subprocess.PIPE
    )
    assert parent.stdout is not None
    await parent.stdout.readline()
    assert await comes(lambda: len(marked_processes(mark)) >= 5)  # two each, and the parent
    made = leased(state_folder)
    assert made
    parent.send_signal(number)
    await parent.wait()
    assert await comes(lambda: not marked_processes(mark))

    def reaped() -> bool:
        # A dying process shows no arguments any more and still keeps its cgroup in use.
        reap()
        return not leased(state_folder)

    assert await comes(reaped)
    assert [path for path in made if path.exists()] == []
    assert mounted(made) == []
