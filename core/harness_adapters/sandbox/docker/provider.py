"""Each sandbox is a container without a network, with the supervisor as its first process.

It serves as a bubblewrap sandbox does, and its root is the same: folders of the host, read-only,
and folders in memory; or it is the image of a task. The supervisor's standard input is the
container's, which ends with this process; the engine then removes the container.
"""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import replace
from typing import Any

from harness_adapters.errors import HarnessAdaptersError
from harness_adapters.sandbox import supervisor
from harness_adapters.sandbox.base import Isolation, Sandbox, SandboxSpec
from harness_adapters.sandbox.cgroup import memory_group
from harness_adapters.sandbox.configuration import check_folders
from harness_adapters.sandbox.docker.attachment import Attachment
from harness_adapters.sandbox.docker.engine import connected, labels
from harness_adapters.sandbox.docker.root import ContainerRoot
from harness_adapters.sandbox.docker.start import Start, prepare
from harness_adapters.sandbox.identities import Identities, spare_uids
from harness_adapters.sandbox.layout import HOSTNAME, SHARED_MEMORY
from harness_adapters.sandbox.probe import probe
from harness_adapters.sandbox.reaper import PREFIX, leased_folder

NAME = "docker"

_LIMITS = {
    "MemoryLimit": "memory is not limited for the sandbox as a whole, only per process",
    "PidsLimit": "processes are not limited for the sandbox as a whole, only per user",
}


class Docker:
    """See ``base.SandboxProvider``."""

    name = NAME
    boundary = True
    images = True

    def __init__(self) -> None:
        self._probed: Isolation | None = None

    async def probe(self) -> Isolation:
        """Also removes the containers of owners that are gone."""
        if self._probed is None:
            self._probed = await self._probe()
        return self._probed

    async def check_images(self, names: Sequence[str]) -> None:
        async with connected() as engine:
            for name in names:
                await engine.inspect(name)

    def open(self, spec: SandboxSpec) -> AbstractAsyncContextManager[Sandbox]:
        """:raises MissingPrerequisite: no engine on this machine answers, or it lacks the image."""
        return _open(spec)

    async def _probe(self) -> Isolation:
        try:
            async with connected() as engine:
                await engine.reap()
                info = await engine.info()
        except HarnessAdaptersError as error:
            return Isolation(ok=False, reason=str(error))
        lost = [text for name, text in _LIMITS.items() if not info.get(name)]
        found = await probe(self)
        return replace(found, lost=(*found.lost, *lost))


@asynccontextmanager
async def _open(spec: SandboxSpec) -> AsyncIterator[Sandbox]:
    check_folders(spec)
    who = Identities.among(spare_uids())
    name = f"{PREFIX}{secrets.token_hex(8)}"
    async with AsyncExitStack() as stack:
        engine = await stack.enter_async_context(connected())
        root = ContainerRoot(stack.enter_context(leased_folder("docker")))
        start = await prepare(engine, root, spec, who)
        stack.push_async_callback(engine.remove, name)
        await engine.create(name, _configuration(start, root))
        link = Attachment(*await engine.attach(name)).link()
        stack.push_async_callback(link.close)
        await engine.start(name)
        sandbox = await supervisor.configure(link, start.spec, who, start.environment)
        sandbox.watch_memory(memory_group(*await engine.process(name)))
        await start.fill(sandbox)
        yield sandbox


def _configuration(start: Start, root: ContainerRoot) -> dict[str, Any]:
    """As the engine's API has it ("Create a container")."""
    memory = supervisor.memory_bytes(start.spec)
    return {
        **start.configuration,
        "User": "0:0",
        "Hostname": HOSTNAME,
        "Labels": labels(),
        "NetworkDisabled": True,
        "OpenStdin": True,
        "StdinOnce": True,  # it ends with the first connection to it
        "AttachStdin": True,
        "AttachStdout": True,
        "AttachStderr": True,
        "HostConfig": {
            "NetworkMode": "none",
            "IpcMode": "private",
            "AutoRemove": True,
            "ReadonlyRootfs": True,
            "Mounts": root.mounts,
            "Tmpfs": root.memories,
            "ShmSize": SHARED_MEMORY,
            "CapDrop": ["ALL"],
            "CapAdd": list(supervisor.CAPABILITIES),
            "SecurityOpt": ["no-new-privileges"],
            "Memory": memory,
            "MemorySwap": memory,
            "PidsLimit": supervisor.processes(start.spec),
            "LogConfig": {"Type": "none"},  # the streams carry files
        },
    }
