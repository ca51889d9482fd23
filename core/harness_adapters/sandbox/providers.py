"""Which sandbox to use."""

from __future__ import annotations

from harness_adapters.errors import BadInput, MissingPrerequisite, did_you_mean
from harness_adapters.sandbox import bubblewrap, process
from harness_adapters.sandbox.base import SandboxProvider
from harness_adapters.sandbox.docker import provider as docker
from harness_adapters.sandbox.reaper import reap

PROVIDERS: dict[str, type[bubblewrap.Bubblewrap | docker.Docker | process.Process]] = {
    bubblewrap.NAME: bubblewrap.Bubblewrap,
    docker.NAME: docker.Docker,
    process.NAME: process.Process,
}


def runs_images(name: str | None) -> bool:
    """Whether sandboxes of that name run container images; ``None`` as for ``provider``."""
    made = PROVIDERS.get(name or bubblewrap.NAME)
    return made is not None and made.images


async def provider(name: str | None = None) -> SandboxProvider:
    """A provider that works here, after what dead owners left has been reaped.

    Without a name it is ``bubblewrap``; there is no fallback to one that isolates less.

    :raises BadInput: there is none of that name.
    :raises MissingPrerequisite: its probe fails on this machine; the message says what to do.
    """
    make = PROVIDERS.get(name or bubblewrap.NAME)
    if make is None:
        raise BadInput(f"no sandbox {name!r}{did_you_mean(str(name), PROVIDERS)}")
    reap()
    found = make()
    isolation = await found.probe()
    if not isolation.ok:
        raise MissingPrerequisite(
            f"the sandbox {found.name!r} does not work here: {isolation.reason}. "
            f"To run without any isolation, choose --sandbox {process.NAME}"
        )
    return found
