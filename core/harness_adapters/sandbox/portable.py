"""The Python of this program for a root that has none of the host's libraries.

The host's own loader starts it and is told where the host's libraries are, so it runs on any
image of the same processor, whatever libraries and programs that has, or none.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path, PurePosixPath

from harness_adapters.errors import MissingPrerequisite
from harness_adapters.sandbox.base import Mount
from harness_adapters.sandbox.toolchain import PYTHON, python_toolchain

LIBRARIES = "/opt/ha/lib"

_LOADER = re.compile(r"ld-[\w.-]+\.so(?:\.\d+)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class PortablePython:
    """:param command: what starts it inside.
    :param mounts: what it needs of the host.
    :param hidden: folders inside with packages that are installed for it.
    """

    command: tuple[str, ...]
    mounts: tuple[Mount, ...]
    hidden: tuple[str, ...]


@cache
def portable_python() -> PortablePython:
    """:raises MissingPrerequisite: this interpreter has no loader of its own."""
    found = python_toolchain()
    prefix = found.prefix or Path("/usr")
    loader = _loader(Path("/proc/self/maps").read_text())
    interpreter = PurePosixPath(PYTHON) / found.host.relative_to(prefix)
    libraries = f"{LIBRARIES}:{interpreter.parent.parent / 'lib'}"
    return PortablePython(
        command=(f"{LIBRARIES}/{loader.name}", "--library-path", libraries, str(interpreter)),
        mounts=(
            Mount(source=prefix, target=PYTHON),
            Mount(source=loader.parent, target=LIBRARIES),
        ),
        hidden=tuple(folder.replace(f"{prefix}/", f"{PYTHON}/", 1) for folder in found.hidden),
    )


def _loader(maps: str) -> Path:
    """The program that loaded this process's libraries; they lie beside it."""
    for line in maps.splitlines():
        path = Path(line[line.find("/") :]) if "/" in line else None
        if path is not None and _LOADER.fullmatch(path.name):
            return path
    raise MissingPrerequisite(f"the interpreter {python_toolchain().host} is linked statically")
