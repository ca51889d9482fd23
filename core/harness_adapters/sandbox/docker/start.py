"""What a container starts from: the small image of all sandboxes, or the image of a task.

An image of a task is the read-only root. Into it are mounted a Python that runs on any image, and
folders in memory that hold what the image has at their places. It is trusted as little as an
agent: nothing of it is loaded by the supervisor.
"""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from harness_adapters.errors import BrokenTask, InfraError
from harness_adapters.sandbox import supervisor
from harness_adapters.sandbox.base import MIB, Sandbox, SandboxSpec
from harness_adapters.sandbox.docker import image
from harness_adapters.sandbox.docker.engine import Engine
from harness_adapters.sandbox.docker.root import ContainerRoot
from harness_adapters.sandbox.identities import Identities
from harness_adapters.sandbox.layout import furnish, furnish_image
from harness_adapters.sandbox.portable import portable_python
from harness_adapters.sandbox.toolchain import ENVIRONMENT, PATH, python_toolchain

VOLUME_BYTES = 64 * MIB
_UNPACK_SECONDS = 120.0
_UNPACK = """
import sys, tarfile

def below(tar):
    for one in tar:
        one.name = one.name.partition("/")[2]
        one.linkname = one.linkname.partition("/")[2] if one.islnk() else one.linkname
        if one.name and (one.isreg() or one.isdir() or one.issym() or one.islnk()):
            one.mode |= 0o700 if one.isdir() else 0o400
            yield one

with tarfile.open(fileobj=sys.stdin.buffer, mode="r|") as tar:
    tar.extraction_filter = lambda member, path: member  # it runs as whom the folder belongs to
    tar.extractall(sys.argv[1], members=below(tar))
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """:param spec: with the volumes of the image as writable folders.
    :param configuration: as the engine's API has it ("Create a container").
    :param environment: of every program.
    :param contents: writable folder -> a tar archive of what the image has in it, below one folder.
    """

    spec: SandboxSpec
    configuration: Mapping[str, Any]
    environment: Mapping[str, str] = field(default_factory=lambda: ENVIRONMENT)
    contents: Mapping[str, bytes] = field(default_factory=dict[str, bytes])

    async def fill(self, sandbox: Sandbox) -> None:
        """Put into the writable folders what the image has there, as the agent's own."""
        command = [*portable_python().command, "-I", "-S", "-B", "-c", _UNPACK]
        for folder in sorted(self.contents):
            done = await sandbox.exec(
                [*command, folder], cwd="/", stdin=self.contents[folder], timeout=_UNPACK_SECONDS
            )
            if done.returncode:
                reason = done.stderr.decode(errors="replace").strip().splitlines()[-1:]
                raise InfraError(f"image {self.spec.image!r}: {folder} is not copied: {reason}")


async def prepare(engine: Engine, root: ContainerRoot, spec: SandboxSpec, who: Identities) -> Start:
    """Put together the root of a container, and say what starts in it.

    :raises MissingPrerequisite: the engine does not have the image.
    :raises BrokenTask: a writable folder holds too much in it.
    """
    if spec.image:
        return await _own(engine, root, spec, who)
    python = python_toolchain()
    furnish(root, spec, python, who)
    name = await engine.image(image.archive(root.links))
    started = supervisor.command(python.interpreter)
    return Start(spec=spec, configuration={"Image": name, "Cmd": started})


async def _own(engine: Engine, root: ContainerRoot, spec: SandboxSpec, who: Identities) -> Start:
    found = await engine.inspect(spec.image)
    settings = found.get("Config") or {}
    volumes = (settings.get("Volumes") or {}).keys()
    writable = {_plain(spec.image, path): VOLUME_BYTES for path in volumes}
    spec = replace(spec, writable={**writable, **spec.writable})
    python = portable_python()
    furnish_image(root, spec, python, who)
    variables = dict(line.split("=", 1) for line in settings.get("Env") or () if "=" in line)
    return Start(
        spec=spec,
        configuration={
            "Image": found["Id"],
            "Entrypoint": supervisor.command(*python.command),
            "Cmd": [],
            "Env": [f"{name}=" for name in variables],  # of the supervisor: none of the image's
            "WorkingDir": "/",
            "Healthcheck": {"Test": ["NONE"]},
        },
        environment={"PATH": PATH, "LANG": "C.UTF-8", **variables},
        contents=await engine.contents(found["Id"], spec.writable),
    )


def _plain(name: str, path: str) -> str:
    plain = posixpath.normpath(path)
    if not plain.startswith("/") or plain.strip("/") in ("", "dev", "proc", "sys", "etc"):
        raise BrokenTask(f"image {name!r}: no folder for a volume: {path!r}")
    return "/" + plain.lstrip("/")
