"""Claude Code's native program: which of npm's packages holds the one for this machine."""

from __future__ import annotations

import platform
from dataclasses import dataclass
from pathlib import Path

from harness_adapters import MissingPrerequisite, Options
from harness_adapters.harness.choice import chosen_path
from harness_adapters.harness.native import is_native, native_version
from harness_adapters.harness.npm import check_npm_pin, install_npm, read_npm_package

PACKAGE = "@anthropic-ai/claude-code"
VERSION = "2.1.332"
"""The release that this driver is tested with."""

LOCK = Path(__file__).with_name("lock.json")
"""npm's lock of it."""

_ARCHITECTURES = {"x86_64": "x64", "aarch64": "arm64"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which Claude Code: the options of ``[harness.claudecode]``.

    :param version: one exact version to install from npm.
    :param path: an installed one to use instead: its program, or the folder of its npm package.
    """

    version: str = VERSION
    path: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """:param binary: the executable on the host; it needs nothing that lies around it."""

    version: str
    binary: Path


def read_options(options: Options) -> Wanted:
    """:raises BadInput: an unknown option or a value that makes no sense."""
    path = chosen_path("claudecode", options, ("path", "version"))
    if path is not None:
        return Wanted(path=path)
    version = options.get("version", VERSION)
    check_npm_pin(PACKAGE, version)
    return Wanted(version=version)


async def find_program(wanted: Wanted) -> Program:
    """
    :raises MissingPrerequisite: it cannot be installed, or not for this machine.
    """
    if wanted.path is not None and is_native(wanted.path):
        version = await native_version(
            wanted.path, harness="Claude Code", says=r"(\S+) \(Claude Code\)"
        )
        return Program(version=version, binary=wanted.path.resolve())
    if wanted.path is not None:
        package = read_npm_package(wanted.path)
    else:
        package = await install_npm(
            PACKAGE, wanted.version, lock=LOCK if wanted.version == VERSION else None
        )
    # npm's install script would have copied it into the package; scripts do not run here.
    machine = _ARCHITECTURES.get(platform.machine(), platform.machine())
    musl = "" if platform.libc_ver()[0] == "glibc" else "-musl"
    binary = package.root / f"{PACKAGE}-linux-{machine}{musl}" / "claude"
    if not binary.is_file():
        raise MissingPrerequisite(
            f"{package.folder} has no program for this machine (linux {machine}{musl})"
        )
    return Program(version=package.version, binary=binary)
