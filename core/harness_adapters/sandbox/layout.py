"""What lies where in a sandbox that has a root of its own, whoever makes that root."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from harness_adapters.sandbox.base import MIB, SandboxSpec
from harness_adapters.sandbox.configuration import is_below
from harness_adapters.sandbox.identities import Identities
from harness_adapters.sandbox.portable import PortablePython
from harness_adapters.sandbox.toolchain import (
    PROGRAMS,
    PYTHON,
    SITE,
    PythonToolchain,
    programs,
    supervisor_package,
)

SUPERVISOR = "/opt/ha/supervisor"
OUTLET = "/run/ha/outlet.sock"
HOSTNAME = "sandbox"
SHARED_MEMORY = 64 * MIB  # of /dev/shm
AGENT_HOME, TESTS_HOME = "/home/agent", "/tmp"

_SYSTEM = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")
_ETC = ("alternatives", "ssl", "pki", "ca-certificates", "ld.so.cache", "ld.so.conf", "localtime")
_NSSWITCH = "passwd: files\ngroup: files\nhosts: files\n"
_HOSTS = f"127.0.0.1 localhost {HOSTNAME}\n::1 localhost\n"


class Root(ABC):
    """A root that is being put together. Everything in it but ``memory`` is read-only."""

    def __init__(self) -> None:
        self._shown: list[tuple[Path, str]] = []

    def bind(self, source: Path, path: str) -> None:
        """Show a file or folder of the host."""
        self._bind(source, path)
        self._shown.append((source.resolve(), path))

    def hide(self, folder: Path) -> None:
        """Cover a host folder with an empty one, wherever something shown so far shows it."""
        folder = folder.resolve()
        for source, path in self._shown:
            if folder.is_relative_to(source) and folder != source and folder.is_dir():
                self.cover(str(PurePosixPath(path) / folder.relative_to(source)), {})

    @abstractmethod
    def _bind(self, source: Path, path: str) -> None: ...

    @abstractmethod
    def symlink(self, target: str, path: str) -> None: ...

    @abstractmethod
    def file(self, path: str, text: str, mode: int = 0o444) -> None: ...

    @abstractmethod
    def cover(self, path: str, files: Mapping[str, str]) -> None:
        """Put a folder with these files, by name, over the one that is there."""

    @abstractmethod
    def memory(self, path: str, size: int, mode: int) -> None:
        """An empty folder in memory, of at most ``size`` bytes, that can be written to."""


def furnish(root: Root, spec: SandboxSpec, python: PythonToolchain, who: Identities) -> None:
    """Put everything in its place, on a root that holds nothing yet."""
    _system(root)
    _accounts(root, who)
    _python(root, python, spec)
    _own(root, spec)


def furnish_image(root: Root, spec: SandboxSpec, python: PortablePython, who: Identities) -> None:
    """Put in its place what a sandbox needs beside what the root of a container image holds."""
    _accounts(root, who)
    root.file("/etc/ld.so.preload", "")  # else the image's would be loaded into the supervisor
    for mount in python.mounts:
        root.bind(mount.source, mount.target)
    for folder in python.hidden:
        root.cover(folder, {})
    _own(root, spec)


def _own(root: Root, spec: SandboxSpec) -> None:
    root.bind(supervisor_package(), f"{SUPERVISOR}/inside")
    for path in sorted(spec.writable):
        root.memory(path, spec.writable[path], 0o1777 if path == "/tmp" else 0o755)
    for mount in sorted(spec.mounts, key=lambda mount: mount.target):
        root.bind(mount.source, mount.target)
    for folder in spec.hidden:
        root.hide(folder)
    if spec.outlet is not None:
        root.bind(spec.outlet, OUTLET)


def _system(root: Root) -> None:
    root.bind(Path("/usr"), "/usr")
    for name in _SYSTEM:
        path = Path("/") / name
        if path.is_symlink():
            root.symlink(str(path.readlink()), str(path))
        elif path.is_dir():
            root.bind(path, str(path))
    for name in _ETC:
        path = Path("/etc") / name
        if path.exists():
            root.bind(path, str(path))
    root.symlink("/tmp", "/var/tmp")


def _accounts(root: Root, who: Identities) -> None:
    people = [("root", 0, "/"), ("agent", who.agent, AGENT_HOME)]
    if who.separate:
        people.append(("tests", who.tests, TESTS_HOME))
    root.file(
        "/etc/passwd",
        "".join(f"{name}:x:{uid}:{uid}::{home}:/bin/sh\n" for name, uid, home in people),
    )
    root.file("/etc/group", "".join(f"{name}:x:{uid}:\n" for name, uid, _ in people))
    root.file("/etc/nsswitch.conf", _NSSWITCH)
    root.file("/etc/hosts", _HOSTS)


def _python(root: Root, python: PythonToolchain, spec: SandboxSpec) -> None:
    for mount in python.mounts:
        root.bind(mount.source, mount.target)
    for folder in python.hidden:
        # what makes pytest importable also for `python -I`, which ignores PYTHONPATH
        root.cover(folder, {"ha.pth": f"{SITE}\n"})
    links, scripts = programs(python.interpreter)
    for name, target in links.items():
        root.symlink(target, f"{PROGRAMS}/{name}")
    for name, text in scripts.items():
        root.file(f"{PROGRAMS}/{name}", text, 0o555)
    taken = (*spec.writable, *(mount.target for mount in spec.mounts))
    if python.prefix and not any(is_below(str(python.prefix), path) for path in taken):
        # an installation knows its own place: library search path, first lines of scripts
        root.symlink(PYTHON, str(python.prefix))
