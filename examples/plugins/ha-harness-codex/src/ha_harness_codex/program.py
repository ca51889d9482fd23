"""Codex's native program: which of npm's packages holds the one for this machine."""

from __future__ import annotations

import platform
from dataclasses import dataclass
from pathlib import Path

from harness_adapters import MissingPrerequisite, Options
from harness_adapters.harness.choice import chosen_path
from harness_adapters.harness.npm import check_npm_pin, install_npm, read_npm_package

PACKAGE = "@openai/codex"
VERSION = "0.171.0"
"""The release that this driver is tested with."""

LOCK = Path(__file__).with_name("lock.json")
"""npm's lock of it."""

_MACHINES = {
    "x86_64": ("codex-linux-x64", "x86_64-unknown-linux-musl"),
    "aarch64": ("codex-linux-arm64", "aarch64-unknown-linux-musl"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which Codex: the options of ``[harness.codex]``.

    :param version: one exact version to install from npm.
    :param path: an installed one to use instead: its npm package, or the command that npm made of
        it.
    """

    version: str = VERSION
    path: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """:param folder: on the host, with ``bin/codex`` and the programs that it calls, statically
    linked."""

    version: str
    folder: Path


def read_options(options: Options) -> Wanted:
    """:raises BadInput: an unknown option or a value that makes no sense."""
    path = chosen_path("codex", options, ("path", "version"))
    if path is not None:
        return Wanted(path=path)
    version = options.get("version", VERSION)
    check_npm_pin(PACKAGE, version)
    return Wanted(version=version)


async def find_program(wanted: Wanted) -> Program:
    """
    :raises MissingPrerequisite: it cannot be installed, or not for this machine.
    """
    if platform.machine() not in _MACHINES:
        raise MissingPrerequisite(f"Codex has no program for this machine ({platform.machine()})")
    if wanted.path is not None:
        package = read_npm_package(wanted.path)
    else:
        package = await install_npm(
            PACKAGE, wanted.version, lock=LOCK if wanted.version == VERSION else None
        )
    name, triple = _MACHINES[platform.machine()]
    folder = package.root / "@openai" / name / "vendor" / triple
    if not (folder / "bin/codex").is_file():
        raise MissingPrerequisite(f"{package.folder} has no program for this machine ({triple})")
    return Program(version=package.version, folder=folder)
