"""The supervisor of a sandbox that has a root of its own, as the host sees it: what it is given."""

from __future__ import annotations

from collections.abc import Mapping

from harness_adapters.sandbox.base import MIB, SandboxSpec
from harness_adapters.sandbox.client import SupervisedSandbox
from harness_adapters.sandbox.configuration import Place, configuration
from harness_adapters.sandbox.identities import Identities
from harness_adapters.sandbox.inside import wire
from harness_adapters.sandbox.layout import (
    AGENT_HOME,
    OUTLET,
    SHARED_MEMORY,
    SUPERVISOR,
    TESTS_HOME,
)
from harness_adapters.sandbox.link import Link
from harness_adapters.sandbox.toolchain import ENVIRONMENT

CAPABILITIES = ("SETUID", "SETGID", "SETPCAP", "KILL", "CHOWN", "DAC_OVERRIDE", "FOWNER")
"""With uids of their own for the programs; these keep none."""

_START = f"import sys; sys.path.append({SUPERVISOR!r}); from inside.supervisor import main; main()"
_MEMORY = 64 * MIB
_PROCESSES = 64
_PORT = 8321  # in a network namespace of its own, so no other sandbox has it


def command(*python: str) -> list[str]:
    """:param python: what starts the interpreter inside."""
    return [*python, "-I", "-S", "-B", "-c", _START]


def memory_bytes(spec: SandboxSpec) -> int:
    """Limit for the sandbox as a whole, with what its folders in memory may hold."""
    return spec.limits.memory_bytes + sum(spec.writable.values()) + SHARED_MEMORY + _MEMORY


def processes(spec: SandboxSpec) -> int:
    """Limit for the sandbox as a whole; agent and tests have one each of their own."""
    return 2 * spec.limits.processes + _PROCESSES


async def configure(
    link: Link,
    spec: SandboxSpec,
    who: Identities,
    environment: Mapping[str, str] = ENVIRONMENT,
) -> SupervisedSandbox:
    """:param environment: of every program in it.
    :raises InfraError: it does not get ready.
    :raises ValueError: the spec makes no sense.
    """
    place = Place(environment=environment)
    frame = configuration(
        spec,
        place,
        pid_namespace=True,
        seal=wire.SEAL_BY_OWNER if who.separate else wire.SEAL_BY_MOUNT,
        uids=(who.agent, who.tests) if who.separate else None,
        homes=(AGENT_HOME, TESTS_HOME),
        processes=spec.limits.processes,
        outlet=OUTLET if spec.outlet else "",
        port=_PORT,
        alias=0 if who.separate else who.agent,
    )
    port = await link.configure(frame)
    return SupervisedSandbox(link, spec, place, port)
