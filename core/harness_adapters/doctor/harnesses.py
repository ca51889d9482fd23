"""The shortest real session of every harness that is installed."""

from __future__ import annotations

import asyncio

from harness_adapters.doctor.line import Line, Subject, fail, ok, warn
from harness_adapters.errors import HarnessAdaptersError, MissingPrerequisite
from harness_adapters.plugins import Plugins


async def check(subject: Subject) -> list[Line]:
    names = sorted(subject.plugins.harnesses.components)
    return await asyncio.gather(*(_check_one(subject.plugins, name) for name in names))


async def _check_one(plugins: Plugins, name: str) -> Line:
    from harness_adapters.testing.wire import check_wire

    try:
        found = await check_wire(plugins.harnesses.create(name))
    except MissingPrerequisite as error:
        return warn(f"{name}: {error}", f"`ha run ... --harness {name}` installs what it can")
    except HarnessAdaptersError as error:
        return fail(f"{name}: {error}", "see the message")
    except Exception as error:  # a stranger's driver may raise anything
        why = f"{type(error).__name__}: {error}"
        return fail(f"{name}: {why}", f"tell the authors of {name}'s driver")
    if found.faults:
        return fail(
            f"{name} {found.version}: {'; '.join(found.faults)}",
            f"`ha plugin check {name}` says more; another release of {name} may be needed",
        )
    return ok(f"{name} {found.version}: ran a command and ended in {found.seconds:.1f} s")
