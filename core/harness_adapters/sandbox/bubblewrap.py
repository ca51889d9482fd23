"""Sandboxes made with bubblewrap: namespaces, a root of their own, everything writable in memory.

As root each role has a uid of its own, which no other sandbox shares, and no user namespace is
involved. As an ordinary user all roles share one uid in a user namespace; what that costs is listed
in ``Isolation.lost``.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import AsyncIterator, Sequence
from contextlib import (
    AbstractAsyncContextManager,
    AsyncExitStack,
    asynccontextmanager,
    suppress,
)
from dataclasses import replace
from pathlib import Path

from harness_adapters.errors import MissingPrerequisite
from harness_adapters.sandbox import supervisor
from harness_adapters.sandbox.base import MIB, Isolation, Sandbox, SandboxSpec
from harness_adapters.sandbox.cgroup import Cgroup
from harness_adapters.sandbox.identities import Identities
from harness_adapters.sandbox.layout import HOSTNAME
from harness_adapters.sandbox.link import Link
from harness_adapters.sandbox.probe import probe
from harness_adapters.sandbox.rootfs import root_fs
from harness_adapters.sandbox.toolchain import python_toolchain

INSTALL = "apt-get install -y bubblewrap (or your system's package of that name)"
NAME = "bubblewrap"

_NAMESPACES = (
    *("--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try"),
    *("--die-with-parent", "--new-session", "--as-pid-1", "--clearenv", "--hostname", HOSTNAME),
    *("--cap-drop", "ALL"),
)
_USER_CAPABILITIES = ("SYS_ADMIN", "SETFCAP", "SETPCAP", "DAC_OVERRIDE", "FOWNER")
_SUPERVISOR_OOM_SCORE = "-900"


class Bubblewrap:
    """See ``base.SandboxProvider``."""

    name = NAME
    boundary = True
    images = False

    def __init__(self) -> None:
        self._probed: Isolation | None = None

    async def probe(self) -> Isolation:
        if self._probed is None:
            found = await probe(self)
            self._probed = replace(found, lost=(*found.lost, *await self._lost()))
        return self._probed

    async def check_images(self, names: Sequence[str]) -> None:
        """There are none to be had."""
        if names:
            raise MissingPrerequisite(f"the sandbox {NAME!r} runs no images: {', '.join(names)}")

    def open(self, spec: SandboxSpec) -> AbstractAsyncContextManager[Sandbox]:
        """:raises MissingPrerequisite: bubblewrap is not installed."""
        return _open(spec)

    async def _lost(self) -> list[str]:
        lost: list[str] = []
        if not Identities.fresh().separate:
            lost.append("agent and tests share one uid; only separate sandboxes keep them apart")
        group = Cgroup.make(memory_bytes=64 * MIB, processes=8)
        if group is None:
            lost.append(
                "no cgroup: memory is limited per process, and neither memory nor the number of "
                "files for the sandbox as a whole"
            )
        else:
            await group.remove()
        return lost


@asynccontextmanager
async def _open(spec: SandboxSpec) -> AsyncIterator[Sandbox]:
    who = Identities.fresh()
    async with AsyncExitStack() as stack:
        told, info = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        stack.callback(os.close, told)
        try:
            link = await _start(spec, who, info)
        finally:
            os.close(info)
        stack.push_async_callback(link.close)
        sandbox = await supervisor.configure(link, spec, who)
        group = _contain(told, spec) if who.separate else None
        if group is not None:
            sandbox.watch_memory(group.lease.cgroups[0])
            stack.push_async_callback(group.remove)
            # a cgroup can be removed only when its processes are gone: after the link is closed
            stack.push_async_callback(link.close)
        yield sandbox


async def _start(spec: SandboxSpec, who: Identities, info: int) -> Link:
    bwrap = shutil.which("bwrap")
    if bwrap is None:
        raise MissingPrerequisite(f"bwrap is not installed: {INSTALL}")
    python = python_toolchain()
    with root_fs(spec, python, who) as root:
        argv = [bwrap, *_NAMESPACES, *_privileges(who), "--info-fd", str(info)]
        argv += [*root.arguments, "--", *supervisor.command(python.interpreter)]
        return await Link.start(argv, (info, *root.fds))


def _contain(told: int, spec: SandboxSpec) -> Cgroup | None:
    """Limit the sandbox as a whole. Nothing but the supervisor runs in it yet."""
    pid = int(json.loads(os.read(told, 4096))["child-pid"])
    with suppress(OSError):
        Path(f"/proc/{pid}/oom_score_adj").write_text(_SUPERVISOR_OOM_SCORE)
    group = Cgroup.make(
        memory_bytes=supervisor.memory_bytes(spec), processes=supervisor.processes(spec)
    )
    if group is not None:
        group.add(pid)
    return group


def _privileges(who: Identities) -> list[str]:
    capabilities = supervisor.CAPABILITIES if who.separate else _USER_CAPABILITIES
    # As uid 0 the supervisor keeps its rights over the mounts; programs get another namespace.
    user = [] if who.separate else ["--unshare-user", "--uid", "0", "--gid", "0"]
    return user + [word for name in capabilities for word in ("--cap-add", f"CAP_{name}")]
