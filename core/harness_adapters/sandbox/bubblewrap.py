"""Sandboxes made with bubblewrap: namespaces, a root of their own, everything writable in memory.

As root each role has a uid of its own, which no other sandbox shares, and no user namespace is
involved. As an ordinary user all roles share one uid in a user namespace; what that costs is listed
in ``Isolation.lost``.
"""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import shutil
from collections.abc import AsyncIterator
from contextlib import (
    AbstractAsyncContextManager,
    AsyncExitStack,
    asynccontextmanager,
    suppress,
)
from dataclasses import dataclass, replace
from pathlib import Path

from harness_adapters.errors import InfraError, MissingPrerequisite
from harness_adapters.sandbox.base import MIB, Isolation, Sandbox, SandboxSpec
from harness_adapters.sandbox.cgroup import Cgroup
from harness_adapters.sandbox.client import Place, SupervisedSandbox, configuration
from harness_adapters.sandbox.inside import wire
from harness_adapters.sandbox.link import Link
from harness_adapters.sandbox.probe import probe
from harness_adapters.sandbox.rootfs import AGENT_HOME, OUTLET, SUPERVISOR, TESTS_HOME, root_fs
from harness_adapters.sandbox.toolchain import PATH, PROGRAMS, SITE, python_toolchain

INSTALL = "apt-get install -y bubblewrap (or your system's package of that name)"
NAME = "bubblewrap"

_PORT = 8321  # in a network namespace of its own, so no other sandbox has it
_START = f"import sys; sys.path.append({SUPERVISOR!r}); from inside.supervisor import main; main()"
_NAMESPACES = (
    *("--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try"),
    *("--die-with-parent", "--new-session", "--as-pid-1", "--clearenv", "--hostname", "sandbox"),
    *("--cap-drop", "ALL"),
)
_ROOT_CAPABILITIES = (
    *("SETUID", "SETGID", "SETPCAP"),
    *("KILL", "CHOWN", "DAC_OVERRIDE", "FOWNER"),
)
_USER_CAPABILITIES = ("SYS_ADMIN", "SETFCAP", "SETPCAP", "DAC_OVERRIDE", "FOWNER")
_USER_UID = 1000
_PLACE = Place(environment={"PATH": f"{PROGRAMS}:{PATH}", "LANG": "C.UTF-8", "PYTHONPATH": SITE})
_SUPERVISOR_MEMORY = 128 * MIB  # with what is written to /dev/shm
_SUPERVISOR_PROCESSES = 64
_SUPERVISOR_OOM_SCORE = "-900"
_OPEN_SECONDS = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Identities:
    """Uids (and gids) inside. ``separate`` where each role has one of its own."""

    agent: int
    tests: int
    separate: bool

    @classmethod
    def fresh(cls) -> Identities:
        """As root: uids that nobody else uses, so that limits per uid count one sandbox."""
        uids = _spare_uids() if os.geteuid() == 0 else range(0)
        if len(uids) < 3:
            return cls(agent=_USER_UID, tests=_USER_UID, separate=False)
        first = uids.start + secrets.randbelow(len(uids) // 2) * 2
        return cls(agent=first, tests=first + 1, separate=True)


def _spare_uids() -> range:
    """The upper half of the uids that exist here, which in a container may be few."""
    ids = [line.split() for line in Path("/proc/self/uid_map").read_text().splitlines()]
    start, size = max((int(first), int(count)) for first, _, count in ids)
    if size > 1 << 31:
        return range(1 << 30, (1 << 31) - 2)
    return range(start + size // 2, start + size - 1) if size >= 1 << 16 else range(0)


class Bubblewrap:
    """See ``base.SandboxProvider``."""

    name = NAME
    boundary = True

    def __init__(self) -> None:
        self._probed: Isolation | None = None

    async def probe(self) -> Isolation:
        if self._probed is None:
            found = await probe(self)
            self._probed = replace(found, lost=(*found.lost, *await self._lost()))
        return self._probed

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
        try:
            async with asyncio.timeout(_OPEN_SECONDS):
                port = await _configure(link, spec, who)
        except TimeoutError:
            raise InfraError(f"no sandbox within {_OPEN_SECONDS:g} s") from None
        group = _contain(told, spec) if who.separate else None
        if group is not None:
            stack.push_async_callback(group.remove)
            # a cgroup can be removed only when its processes are gone: after the link is closed
            stack.push_async_callback(link.close)
        yield SupervisedSandbox(link, spec, _PLACE, port)


async def _start(spec: SandboxSpec, who: Identities, info: int) -> Link:
    bwrap = shutil.which("bwrap")
    if bwrap is None:
        raise MissingPrerequisite(f"bwrap is not installed: {INSTALL}")
    python = python_toolchain()
    with root_fs(spec, python, who.agent, who.tests) as root:
        argv = [bwrap, *_NAMESPACES, *_privileges(who), "--info-fd", str(info)]
        argv += [*root.arguments, "--", python.interpreter, "-I", "-S", "-B", "-c", _START]
        return await Link.start(argv, (info, *root.fds))


async def _configure(link: Link, spec: SandboxSpec, who: Identities) -> int:
    frame = configuration(
        spec,
        _PLACE,
        pid_namespace=True,
        seal=wire.SEAL_BY_OWNER if who.separate else wire.SEAL_BY_MOUNT,
        uids=(who.agent, who.tests) if who.separate else None,
        homes=(AGENT_HOME, TESTS_HOME),
        processes=spec.limits.processes,
        outlet=OUTLET if spec.outlet else "",
        port=_PORT,
        alias=0 if who.separate else who.agent,
    )
    return await link.configure(frame)


def _contain(told: int, spec: SandboxSpec) -> Cgroup | None:
    """Limit the sandbox as a whole. Nothing but the supervisor runs in it yet."""
    pid = int(json.loads(os.read(told, 4096))["child-pid"])
    with suppress(OSError):
        Path(f"/proc/{pid}/oom_score_adj").write_text(_SUPERVISOR_OOM_SCORE)
    group = Cgroup.make(
        memory_bytes=spec.limits.memory_bytes + sum(spec.writable.values()) + _SUPERVISOR_MEMORY,
        processes=2 * spec.limits.processes + _SUPERVISOR_PROCESSES,
    )
    if group is not None:
        group.add(pid)
    return group


def _privileges(who: Identities) -> list[str]:
    capabilities = _ROOT_CAPABILITIES if who.separate else _USER_CAPABILITIES
    # As uid 0 the supervisor keeps its rights over the mounts; programs get another namespace.
    user = [] if who.separate else ["--unshare-user", "--uid", "0", "--gid", "0"]
    return user + [word for name in capabilities for word in ("--cap-add", f"CAP_{name}")]
