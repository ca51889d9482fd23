"""All checks by name, and running them."""

from __future__ import annotations

from collections.abc import Mapping

from harness_adapters.doctor import disk, docker, engine, harnesses, node, plugins, sandbox
from harness_adapters.doctor.line import Check, Line, Subject, fail
from harness_adapters.errors import HarnessAdaptersError

CHECKS: dict[str, Check] = {
    "node": node.check,
    "sandbox": sandbox.check,
    "docker": docker.check,
    "disk": disk.check,
    "plugins": plugins.check,
    "harnesses": harnesses.check,
    "engine": engine.check,
}
"""In the order in which they run; add a check by its name."""


async def examine(
    subject: Subject, checks: Mapping[str, Check] | None = None
) -> dict[str, list[Line]]:
    """Run all checks. One that cannot be made does not keep the others from being made."""
    found: dict[str, list[Line]] = {}
    for name, check in (CHECKS if checks is None else checks).items():
        try:
            found[name] = await check(subject)
        except HarnessAdaptersError as error:
            found[name] = [fail(str(error), "see the message")]
    return found
