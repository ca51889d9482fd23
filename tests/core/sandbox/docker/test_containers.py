"""Real containers. One short test runs wherever an engine answers; the others are for ``--full``,
as is what every sandbox promises (``test_contract``, ``test_isolation``)."""

from __future__ import annotations

import asyncio
import json
import secrets
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from containers import containers_left

from harness_adapters.errors import InfraError
from harness_adapters.sandbox.base import FileEntry, SandboxProvider, SandboxSpec
from harness_adapters.sandbox.docker.engine import OWNER, PLACE, client, labels
from harness_adapters.sandbox.docker.image import REPOSITORY
from harness_adapters.sandbox.providers import provider

full = pytest.mark.full


@pytest.fixture
def api(docker: SandboxProvider) -> Any:
    api, _ = client()
    yield api
    api.close()


async def test_a_container_works_and_isolates(
    docker: SandboxProvider, small: SandboxSpec, tmp_path: Path, state_folder: Path
) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"echo " + await reader.readline())
        writer.close()

    found = await docker.probe()
    assert found.ok, found.reason
    outlet = tmp_path / "gateway.sock"
    talk = (
        "import socket, sys, urllib.parse as u; where = u.urlsplit(sys.argv[1]);"
        "s = socket.create_connection((where.hostname, where.port)); s.sendall(b'hello\\n');"
        "print(s.makefile().read(), open('note').read())"
    )
    async with (
        await asyncio.start_unix_server(answer, outlet),
        docker.open(replace(small, outlet=outlet)) as sandbox,
    ):
        await sandbox.put({"note": FileEntry(content=b"a note")}, at="/work")
        result = await sandbox.exec(["python3", "-c", talk, sandbox.outlet_url])
        assert (result.stdout, result.stderr) == (b"echo hello\n a note\n", b"")
        slow = await sandbox.exec(["sh", "-c", "setsid sleep 600 & sleep 600"], timeout=0.3)
        assert (slow.timed_out, slow.returncode) == (True, -9)
    assert containers_left() == []
    assert list(state_folder.rglob("*.lease")) == []


@full
async def test_one_small_image_serves_all(docker: SandboxProvider, api: Any) -> None:
    await docker.probe()
    before = api.images(REPOSITORY)
    async with docker.open(SandboxSpec()):
        assert api.images(REPOSITORY) == before
    assert max(one["Size"] for one in before) < 100_000


@full
async def test_what_dead_owners_left_is_removed_at_the_next_start(
    docker: SandboxProvider, small: SandboxSpec, api: Any
) -> None:
    mine = labels()
    pid, started, boot = json.loads(mine[OWNER])
    dead = {**mine, OWNER: json.dumps([pid, started - 1, boot])}
    elsewhere = {**dead, PLACE: "pid:[1]/0"}
    await docker.probe()
    image = api.images(REPOSITORY)[0]["RepoTags"][0]
    made = {}
    for what, its in (("mine", mine), ("dead", dead), ("elsewhere", elsewhere)):
        made[what] = f"ha-test-{secrets.token_hex(8)}"
        configuration = {"Image": image, "Cmd": ["none"], "Labels": its}
        api.create_container_from_config(configuration, made[what])
    try:
        async with docker.open(small) as running:
            await provider("docker")
            there = {one["Names"][0].lstrip("/") for one in api.containers(all=True)}
            assert made["dead"] not in there
            assert {made["mine"], made["elsewhere"]} <= there
            assert (await running.exec(["true"])).returncode == 0
    finally:
        for what in ("mine", "elsewhere"):
            api.remove_container(made[what])


HOLDS = """
import asyncio
from harness_adapters.sandbox.base import SandboxSpec
from harness_adapters.sandbox.docker.provider import Docker

async def main():
    async with Docker().open(SandboxSpec()) as sandbox:
        await sandbox.exec(["sh", "-c", "setsid sleep 600 & echo"])
        print("open", flush=True)
        await asyncio.sleep(600)

asyncio.run(main())
"""


@full
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
async def test_a_container_goes_with_its_owner(
    docker: SandboxProvider, number: signal.Signals
) -> None:
    owner = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", HOLDS), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    assert owner.stdout is not None
    assert await owner.stdout.readline() == b"open\n"
    assert len(containers_left(owner.pid)) == 1
    owner.send_signal(number)
    await owner.wait()
    async with asyncio.timeout(30):
        while containers_left(owner.pid):  # noqa: ASYNC110 (the engine says it when asked)
            await asyncio.sleep(0.05)


@full
@pytest.mark.parametrize("seconds", [0.0, 0.02, 0.05, 0.1, 0.15, 0.2])
async def test_a_start_that_is_cancelled_leaves_nothing(
    docker: SandboxProvider, small: SandboxSpec, seconds: float, state_folder: Path
) -> None:
    async def hold() -> None:
        async with docker.open(small):
            await asyncio.sleep(600)

    starting = asyncio.create_task(hold())
    await asyncio.sleep(seconds)
    starting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await starting
    assert containers_left() == []
    assert list(state_folder.rglob("*.lease")) == []


@pytest.fixture
async def opened(docker: SandboxProvider, small: SandboxSpec) -> AsyncIterator[Any]:
    async with docker.open(small) as sandbox:
        yield sandbox


@full
async def test_a_container_that_is_killed_from_outside_is_an_infra_error(
    opened: Any, api: Any
) -> None:
    running = asyncio.create_task(opened.exec(["sleep", "600"]))
    assert (await opened.exec(["true"])).returncode == 0
    (name,) = containers_left()
    api.remove_container(name, force=True)
    with pytest.raises(InfraError, match="went away"):
        await running
    with pytest.raises(InfraError, match="went away"):
        await opened.exec(["true"])


@full
async def test_nothing_of_the_hosts_engine_or_network_is_inside(opened: Any) -> None:
    script = (
        "ls /var/run/docker.sock /run/docker.sock /var/lib 2>/dev/null; cut -d: -f1 /proc/net/dev"
        " | tail -n +3; cat /etc/resolv.conf; grep -c . /proc/net/route; touch /dev/x /sys/x"
    )
    result = await opened.exec(["sh", "-c", script])
    assert result.stdout.split() == [b"lo", b"1"]  # the route table's headline
    assert result.returncode != 0
