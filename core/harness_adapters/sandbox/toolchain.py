"""The Python that every sandbox has: for its supervisor, for agents, and for test code.

It is the interpreter that runs this program, plus pytest, without what else is installed for it.
"""

from __future__ import annotations

import compileall
import importlib.metadata
import importlib.util
import json
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from harness_adapters.errors import MissingPrerequisite
from harness_adapters.sandbox.base import Mount

PYTHON = "/opt/ha/python"
SITE = "/opt/ha/site"
PROGRAMS = "/opt/ha/bin"
PATH = "/usr/local/bin:/usr/bin:/bin"
ENVIRONMENT = {"PATH": f"{PROGRAMS}:{PATH}", "LANG": "C.UTF-8", "PYTHONPATH": SITE}
"""Of every program in a sandbox that has a root of its own."""

_PACKAGES = ("pytest", "_pytest", "py", "pluggy", "iniconfig", "packaging", "pygments")
_DISTRIBUTIONS = ("pytest", "pluggy")  # `pytest -v` reads which versions they are
_SITE_FOLDERS = "import json, site; print(json.dumps(site.getsitepackages()))"


@dataclass(frozen=True, slots=True, kw_only=True)
class PythonToolchain:
    """Where things are inside a sandbox that has a root of its own.

    :param host: the interpreter on the host.
    :param interpreter: the same inside.
    :param prefix: where the interpreter is installed on the host, when it has to be mounted.
    :param mounts: the installation and the packages of pytest.
    :param hidden: folders inside with packages that are installed for the interpreter.
    """

    host: Path
    interpreter: str
    prefix: Path | None
    mounts: tuple[Mount, ...]
    hidden: tuple[str, ...]


@cache
def python_toolchain() -> PythonToolchain:
    """:raises MissingPrerequisite: the interpreter or a package of pytest is not found."""
    prefix = Path(sys.base_prefix).resolve()
    host = Path(getattr(sys, "_base_executable", sys.executable)).resolve()
    if not host.is_relative_to(prefix):
        raise MissingPrerequisite(f"the interpreter {host} is not below its prefix {prefix}")
    mounted = not prefix.is_relative_to("/usr")

    def inside(path: Path) -> str:
        return str(PYTHON / path.relative_to(prefix)) if mounted else str(path)

    found = subprocess.run([host, "-I", "-c", _SITE_FOLDERS], capture_output=True, check=False)
    if found.returncode:
        raise MissingPrerequisite(f"the interpreter {host} does not run")
    folders = {Path(folder).resolve() for folder in json.loads(found.stdout)}
    mounts = tuple(Mount(source=path, target=f"{SITE}/{path.name}") for path in _packages())
    if mounted:
        mounts = (Mount(source=prefix, target=PYTHON), *mounts)
    return PythonToolchain(
        host=host,
        interpreter=inside(host),
        prefix=prefix if mounted else None,
        mounts=mounts,
        hidden=tuple(
            sorted(
                inside(path) for path in folders if path.is_dir() and path.is_relative_to(prefix)
            )
        ),
    )


@cache
def supervisor_package() -> Path:
    """The folder to import the supervisor from, compiled so that it loads fast where possible."""
    folder = Path(__file__).with_name("inside")
    compileall.compile_dir(folder, quiet=2)
    return folder


def programs(interpreter: str) -> tuple[Mapping[str, str], Mapping[str, str]]:
    """What ``PROGRAMS`` holds: name -> target of a link, and name -> text of a script."""
    links = {"python": interpreter, "python3": interpreter}
    return links, {"pytest": f'#!/bin/sh\nexec {interpreter} -m pytest "$@"\n'}


def _packages() -> list[Path]:
    paths: list[Path] = []
    for name in _PACKAGES:
        spec = importlib.util.find_spec(name)
        if spec is None or spec.origin is None:
            raise MissingPrerequisite(f"the package {name} is not installed: pip install pytest")
        origin = Path(spec.origin)
        paths.append(origin.parent if spec.submodule_search_locations else origin)
    for name in _DISTRIBUTIONS:
        found = importlib.metadata.distribution(name)
        metadata = next(file for file in found.files or () if file.name == "METADATA")
        paths.append(Path(str(found.locate_file(metadata))).parent)
    return paths
