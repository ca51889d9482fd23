"""Exactly pinned npm packages in the cache, installed without running their scripts.

A lock, npm's own ``package-lock.json``, fixes all that a package imports as well, by version and
hash. It names no registry, so it holds for a mirror too.
"""

from __future__ import annotations

import hashlib
import logging
import platform
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from harness_adapters.errors import BadInput, MissingPrerequisite
from harness_adapters.harness.cache import install_once
from harness_adapters.harness.node import Version, find_node
from harness_adapters.harness.program import run_program

log = logging.getLogger(__name__)

_NAME = re.compile(r"(?:@[a-z0-9][a-z0-9._-]*/)?[a-z0-9][a-z0-9._-]*")
_VERSION = re.compile(r"\d+\.\d+\.\d+(?:[-+][0-9A-Za-z.+-]+)?")
_NPM_NEEDS: Version = (18, 17, 0)
_INSTALL_SECONDS = 900.0
_NO_NETWORK = ("ENOTFOUND", "EAI_AGAIN", "ECONNREFUSED", "ECONNRESET", "ETIMEDOUT", "ENETUNREACH")
_NO_SUCH = ("E404", "ETARGET", "ENOVERSIONS")


@dataclass(frozen=True, slots=True, kw_only=True)
class NpmPackage:
    """A package on the host, as its own ``package.json`` describes it.

    :param folder: the package's folder.
    :param root: the folder that holds it and all that it imports; to be mounted as a whole.
    """

    name: str
    version: str
    folder: Path
    root: Path
    manifest: dict[str, Any]

    def program(self, name: str) -> Path:
        """The script behind a command of the package, relative to :attr:`root`.

        :raises MissingPrerequisite: the package has no such command, or its file is missing.
        """
        commands = self.manifest.get("bin")
        script = commands.get(name) if isinstance(commands, dict) else commands
        if not isinstance(script, str) or not (self.folder / script).is_file():
            raise MissingPrerequisite(f"{self.folder} has no program {name!r}")
        return (self.folder / script).relative_to(self.root)

    @property
    def engine(self) -> str:
        """Its ``engines.node``, or an empty string."""
        engines = self.manifest.get("engines")
        node = engines.get("node") if isinstance(engines, dict) else None
        return node if isinstance(node, str) else ""


def check_npm_pin(package: str, version: str) -> None:
    """:raises BadInput: no package name, or not one exact version."""
    if not _NAME.fullmatch(package):
        raise BadInput(f"{package!r} is no npm package name")
    if not _VERSION.fullmatch(version):
        raise BadInput(f"{package}: {version!r} is not one exact version such as 1.2.3")


async def install_npm(package: str, version: str, *, lock: Path | None = None) -> NpmPackage:
    """Install ``package@version`` into the cache, unless it is there.

    It is run through the npm of a Node.js that :func:`find_node` finds, with the user's own npm
    configuration (registry, proxy). Install scripts do not run.

    :param lock: a ``package-lock.json`` for exactly this package and version, without ``resolved``
        (npm writes such a one with ``omit-lockfile-registry-resolved``).
    :raises BadInput: no package name, not one exact version.
    :raises MissingPrerequisite: no npm, no network, no such version, or something else than what
        the lock says.
    """
    check_npm_pin(package, version)
    name = f"npm+{package.replace('/', '+')}@{version}-{platform.machine()}"
    locked = lock.read_bytes() if lock else b""
    if locked:
        name += f"-{hashlib.sha256(locked).hexdigest()[:8]}"

    async def fill(folder: Path) -> None:
        node = await find_node(_NPM_NEEDS, with_npm=True)
        assert node.npm is not None
        log.info("installing %s %s with npm", package, version)
        wanted = {"private": True, "dependencies": {package: version}}
        (folder / "package.json").write_bytes(orjson.dumps(wanted))
        if locked:
            (folder / "package-lock.json").write_bytes(locked)
        done = await run_program(
            [
                node.binary, node.npm, "ci" if locked else "install",
                "--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier",
                "--fetch-retries=1", "--loglevel=warn", "--no-progress",
            ],
            cwd=folder,
            timeout=_INSTALL_SECONDS,
            env={"NODE_OPTIONS": ""},
            progress=True,
        )  # fmt: skip
        if done.returncode:
            raise MissingPrerequisite(_why(package, version, done.output, done.timed_out))
        found = read_npm_package(folder / "node_modules" / package)
        if found.version != version:
            raise MissingPrerequisite(f"npm installed {package} {found.version}, not {version}")

    folder = await install_once(name, fill)
    return read_npm_package(folder / "node_modules" / package)


def read_npm_package(place: Path) -> NpmPackage:
    """Read an installed package from its folder, or from a script of it such as npm's link to its
    command.

    :raises MissingPrerequisite: there is no package.
    """
    folder = place.resolve()
    if folder.is_file():
        above = (one for one in folder.parents if (one / "package.json").is_file())
        folder = next(above, folder)
    try:
        manifest = orjson.loads((folder / "package.json").read_bytes())
        name, version = manifest["name"], manifest["version"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise MissingPrerequisite(f"{place} holds no npm package: {error}") from error
    if not (isinstance(name, str) and _NAME.fullmatch(name) and isinstance(version, str)):
        raise MissingPrerequisite(f"{folder}/package.json has no usable name and version")
    root = next((parent for parent in folder.parents if parent.name == "node_modules"), folder)
    return NpmPackage(name=name, version=version, folder=folder, root=root, manifest=manifest)


def _why(package: str, version: str, output: str, timed_out: bool) -> str:
    """One line from npm's many."""
    if timed_out:
        return f"npm did not install {package}@{version} within {_INSTALL_SECONDS:.0f} s"
    code = next(iter(re.findall(r"npm (?:error|ERR!) code (\S+)", output)), "")
    if code in _NO_NETWORK:
        return (
            f"cannot reach the npm registry for {package}@{version} ({code}): "
            "connect once, or name the folder of an installed copy with the option `path`"
        )
    if code == "EINTEGRITY":
        return f"npm got something else for {package}@{version} than its lock says ({code})"
    if code in _NO_SUCH:
        return f"the npm registry has no {package}@{version} ({code})"
    errors = re.findall(r"npm (?:error|ERR!) (?!code )(.+)", output)
    return f"npm could not install {package}@{version}: {code} {errors[0] if errors else output}"[
        :400
    ].strip()
