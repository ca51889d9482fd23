"""opencode's native program: which of npm's packages holds the one for this machine."""

from __future__ import annotations

import platform
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ha_harness_opencode.options import PACKAGE, OpencodeOptions
from harness_adapters import MissingPrerequisite
from harness_adapters.harness.npm import NpmPackage, install_npm, read_npm_package
from harness_adapters.harness.program import run_program

_PROBE_SECONDS = 60.0
_ARCHITECTURES = {"x86_64": "x64", "aarch64": "arm64"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """:param binary: the executable on the host; it needs nothing that lies around it."""

    version: str
    binary: Path


async def find_program(wanted: OpencodeOptions) -> Program:
    """
    :raises MissingPrerequisite: it cannot be installed, or there is none at ``path``.
    """
    if wanted.path is not None and not wanted.path.is_dir():
        return await _installed(wanted.path)
    if wanted.path is not None:
        package = read_npm_package(wanted.path)
    else:
        package = await install_npm(PACKAGE, wanted.version)
    # npm's own scripts do not run here, so the package's program is only a placeholder.
    for name in native_packages(package):
        binary = package.root / name / "bin/opencode"
        if binary.is_file():
            return Program(version=package.version, binary=binary)
    raise MissingPrerequisite(
        f"{package.folder} has no program for this machine ({platform.machine()}, "
        f"{platform.libc_ver()[0] or 'unknown C library'})"
    )


def native_packages(package: NpmPackage) -> Iterator[str]:
    """Names of the packages that may hold the program for this machine, the best one first."""
    base = f"opencode-linux-{_ARCHITECTURES.get(platform.machine(), platform.machine())}"
    musl = "" if platform.libc_ver()[0] == "glibc" else "-musl"
    offered = package.manifest.get("optionalDependencies")
    names = [f"{base}{musl}", f"{base}-baseline{musl}"]
    if not _has_avx2():
        names.reverse()
    return (name for name in names if isinstance(offered, dict) and name in offered)


def _has_avx2() -> bool:
    try:
        return "avx2" in Path("/proc/cpuinfo").read_text().split()
    except OSError:
        return False


async def _installed(binary: Path) -> Program:
    binary = binary.resolve()
    with tempfile.TemporaryDirectory(prefix="ha-") as home:  # it writes even for this answer
        try:
            answer = await run_program(
                [binary, "--version"], timeout=_PROBE_SECONDS, cwd=Path(home), env=_alone(home)
            )
        except OSError as error:
            raise MissingPrerequisite(f"{binary} does not start: {error}") from error
    version = answer.output.strip().splitlines()[-1:] or [""]
    if answer.returncode or not version[0][:1].isdigit():
        raise MissingPrerequisite(f"{binary} is no opencode: it does not tell its version")
    return Program(version=version[0], binary=binary)


def _alone(home: str) -> dict[str, str]:
    places = ("CONFIG", "DATA", "STATE", "CACHE")
    return {"HOME": home, **{f"XDG_{place}_HOME": f"{home}/{place}" for place in places}}
