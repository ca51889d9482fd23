"""No boundary: programs run on the host, under a temporary folder, as whoever runs this.

For tests and trusted use. What it does give: one folder per sandbox, limits per program, and that
nothing of it runs or lies around when it is closed.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from pathlib import Path

from harness_adapters.errors import MissingPrerequisite
from harness_adapters.sandbox.base import Isolation, Sandbox, SandboxSpec
from harness_adapters.sandbox.client import SupervisedSandbox
from harness_adapters.sandbox.configuration import Place, configuration
from harness_adapters.sandbox.inside import wire
from harness_adapters.sandbox.link import Link
from harness_adapters.sandbox.reaper import leased_folder
from harness_adapters.sandbox.toolchain import (
    PATH,
    PROGRAMS,
    SITE,
    PythonToolchain,
    programs,
    python_toolchain,
    supervisor_package,
)

NAME = "process"

_START = "import sys; sys.path.append(sys.argv[1]); from inside.supervisor import main; main()"
_LOST = (
    "no boundary at all: programs can read, change and reach whatever this user can",
    "files of the owner are only marked read-only",
    "sizes of folders, memory as a whole and the number of processes are not limited",
)


class Process:
    """See ``base.SandboxProvider``."""

    name = NAME
    boundary = False
    images = False

    async def probe(self) -> Isolation:
        return Isolation(ok=True, reason="it isolates nothing, and does not claim to", lost=_LOST)

    async def check_images(self, names: Sequence[str]) -> None:
        """There are none to be had."""
        if names:
            raise MissingPrerequisite(f"the sandbox {NAME!r} runs no images: {', '.join(names)}")

    def open(self, spec: SandboxSpec) -> AbstractAsyncContextManager[Sandbox]:
        return _open(spec)


@asynccontextmanager
async def _open(spec: SandboxSpec) -> AsyncIterator[Sandbox]:
    python = python_toolchain()
    async with AsyncExitStack() as stack:
        base = stack.enter_context(leased_folder("sandbox"))
        targets = _furnish(base, spec, python)
        place = Place(
            base=str(base),
            targets=targets,
            environment={
                "PATH": f"{base}{PROGRAMS}:{PATH}",
                "LANG": "C.UTF-8",
                "PYTHONPATH": f"{base}{SITE}",
                **({"TMPDIR": f"{base}/tmp"} if "/tmp" in spec.writable else {}),
            },
        )
        where = str(supervisor_package().parent)
        link = await Link.start([str(python.host), "-I", "-S", "-B", "-c", _START, where])
        stack.push_async_callback(link.close)
        home = f"{base}/home/agent"
        frame = configuration(
            spec,
            place,
            pid_namespace=False,
            seal=wire.SEAL_BY_MODE,
            uids=None,
            homes=(home, home),
            processes=0,  # it would count everything that this user runs
            outlet=str(spec.outlet or ""),
            port=0,
            remove=str(base),
        )
        port = await link.configure(frame)
        yield SupervisedSandbox(link, spec, place, port)


def _furnish(base: Path, spec: SandboxSpec, python: PythonToolchain) -> tuple[str, ...]:
    """Make the folders, and links to what another sandbox would mount; the links' paths inside."""
    for folder in (*spec.writable, "/home/agent"):
        _below(base, folder).mkdir(parents=True, exist_ok=True)
    links, scripts = programs(str(python.host))
    _below(base, PROGRAMS).mkdir(parents=True)
    for name, interpreter in links.items():
        (_below(base, PROGRAMS) / name).symlink_to(interpreter)
    for name, text in scripts.items():
        script = _below(base, PROGRAMS) / name
        script.write_text(text)
        script.chmod(0o755)
    mounts = (*python.mounts, *spec.mounts)
    for mount in mounts:
        link = _below(base, mount.target)
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(mount.source.absolute())
    return (PROGRAMS, SITE, *(mount.target for mount in mounts))


def _below(base: Path, inside: str) -> Path:
    return base / inside.lstrip("/")
