"""opencode's native program: which of npm's packages holds the one for this machine."""

from __future__ import annotations

import platform
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ha_harness_opencode.options import PACKAGE, VERSION, OpencodeOptions
from harness_adapters import MissingPrerequisite
from harness_adapters.harness.native import is_native, native_version
from harness_adapters.harness.npm import NpmPackage, install_npm, read_npm_package

LOCK = Path(__file__).with_name("lock.json")
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
    if wanted.path is not None and is_native(wanted.path):
        version = await native_version(wanted.path, harness="opencode")
        return Program(version=version, binary=wanted.path.resolve())
    if wanted.path is not None:
        package = read_npm_package(wanted.path)
    else:
        package = await install_npm(PACKAGE, wanted.version, lock=_lock(wanted))
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


def _lock(wanted: OpencodeOptions) -> Path | None:
    """The lock of the tested release; it has the packages for x86 with the GNU C library."""
    known = platform.machine() == "x86_64" and platform.libc_ver()[0] == "glibc"
    return LOCK if known and wanted.version == VERSION else None
