"""Exactly pinned PyPI packages in the cache, each with all that it imports in one flat folder.

A lock fixes all of them by version and hash. It names no index, so it holds for a mirror too.

Such a folder needs no virtual environment: any interpreter of the same version runs it when the
folder is put on ``sys.path``, wherever it is mounted. Only wheels are taken, so nothing of a
package runs while it is installed.
"""

from __future__ import annotations

import hashlib
import importlib.util
import logging
import platform
import re
import shutil
import sys
from dataclasses import dataclass
from email import message_from_bytes
from pathlib import Path

from harness_adapters.errors import BadInput, MissingPrerequisite
from harness_adapters.harness.cache import install_once
from harness_adapters.harness.program import run_program

log = logging.getLogger(__name__)

_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")
_VERSION = re.compile(r"\d+(?:\.\d+)*(?:(?:a|b|rc|\.post|\.dev)\d+)*")
_INSTALL_SECONDS = 900.0
_PYTHON = f"cp{sys.version_info.major}{sys.version_info.minor}"
_NO_NETWORK = re.compile(
    r"Failed to establish a new connection|NewConnectionError|Temporary failure in name|"
    r"Could not fetch URL|dns error|error sending request|ConnectTimeout",
    re.IGNORECASE,
)
_OTHER_HASH = re.compile(r"DO NOT MATCH THE HASHES|Hash mismatch", re.IGNORECASE)
_NO_SUCH = re.compile(r"No matching distribution|no version of|was not found in the package")


@dataclass(frozen=True, slots=True, kw_only=True)
class PythonPackage:
    """An installed package on the host.

    :param site: the folder that holds it and all that it imports; to be mounted as a whole.
    """

    name: str
    version: str
    site: Path


def check_pypi_pin(package: str, version: str) -> None:
    """:raises BadInput: no package name, or not one exact version."""
    if not _NAME.fullmatch(package):
        raise BadInput(f"{package!r} is no PyPI package name")
    if not _VERSION.fullmatch(version):
        raise BadInput(f"{package}: {version!r} is not one exact version such as 1.2.3")


async def install_pypi(package: str, version: str, *, lock: Path | None = None) -> PythonPackage:
    """Install ``package==version``, for the Python that runs this, unless it is there.

    The installer's own configuration (index, proxy) is the user's.

    :param lock: a requirements file that fixes the package and all that it imports by version and
        hash, as ``uv pip compile --generate-hashes`` writes it.
    :raises BadInput: no package name, not one exact version.
    :raises MissingPrerequisite: no pip and no uv, no network, no such version, or something else
        than what the lock says.
    """
    check_pypi_pin(package, version)
    name = f"pypi+{package}@{version}-{_PYTHON}-{platform.machine()}"
    if lock:
        name += f"-{hashlib.sha256(lock.read_bytes()).hexdigest()[:8]}"
        what: tuple[str | Path, ...] = ("--require-hashes", "--no-deps", "--requirement", lock)
    else:
        what = (f"{package}=={version}",)

    async def fill(folder: Path) -> None:
        log.info("installing %s %s from PyPI", package, version)
        await pip_install(folder / "site", *what, name=package)

    return read_python_package(package, await install_once(name, fill) / "site")


async def pip_install(folder: Path, *arguments: str | Path, name: str) -> None:
    """Install wheels into a flat folder with pip, or else uv.

    :param name: what to call it in messages.
    :raises MissingPrerequisite: neither is there, or it fails.
    """
    # Compiled ahead: whoever runs it from a read-only mount could not keep what it compiles.
    if importlib.util.find_spec("pip") is not None:
        installer = [sys.executable, "-m", "pip", "install", "--no-input"]
    elif uv := shutil.which("uv"):
        installer = [uv, "pip", "install", "--python", sys.executable, "--compile-bytecode"]
    else:
        raise MissingPrerequisite(f"no pip and no uv to install {name} with")
    try:
        done = await run_program(
            [*installer, "--quiet", "--only-binary=:all:", "--target", folder, *arguments],
            timeout=_INSTALL_SECONDS,
            env={"PIP_DISABLE_PIP_VERSION_CHECK": "1"},
        )
    except OSError as error:
        raise MissingPrerequisite(f"{installer[0]} does not start: {error}") from error
    if done.returncode:
        raise MissingPrerequisite(_why(name, done.output, done.timed_out))


def read_python_package(package: str, place: Path) -> PythonPackage:
    """Read an installed package from a flat folder, or from a virtual environment (its folder, or
    a command of it) of a Python of the version that runs this.

    :raises MissingPrerequisite: there is no such package, or it is for another Python.
    """
    folder = place.resolve()
    if folder.is_file():
        above = (one for one in folder.parents if (one / "pyvenv.cfg").is_file())
        folder = next(above, folder)
    site = folder
    if (folder / "pyvenv.cfg").is_file():
        site = folder / f"lib/python{sys.version_info.major}.{sys.version_info.minor}/site-packages"
        if not site.is_dir():
            raise MissingPrerequisite(
                f"{folder} is an environment of another Python than {platform.python_version()}"
            )
    file_name = re.sub(r"[-_.]+", "[-_.]", package)
    for metadata in sorted(site.glob(f"{file_name}-*.dist-info/METADATA")):
        version = message_from_bytes(metadata.read_bytes())["Version"]
        if version:
            return PythonPackage(name=package, version=version, site=site)
    raise MissingPrerequisite(f"{folder} holds no installed {package}")


def _why(name: str, output: str, timed_out: bool) -> str:
    """One line from the installer's many."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    if timed_out:
        reason = f"it was not done within {_INSTALL_SECONDS:.0f} s"
    elif _NO_NETWORK.search(output):
        reason = "the package index cannot be reached; connect once, or install it yourself"
    elif _OTHER_HASH.search(output):
        reason = "what the package index gave is not what the lock says"
    elif _NO_SUCH.search(output):
        reason = f"the package index has no such version for Python {platform.python_version()}"
    else:
        errors = [line for line in lines if line.lower().startswith("error")]
        reason = (errors or lines or ["no output"])[-1][:300]
    return f"installing {name} failed: {reason}"
