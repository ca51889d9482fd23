"""The file system of a bubblewrap sandbox, as arguments of ``bwrap``."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from harness_adapters.sandbox.base import MIB, SandboxSpec
from harness_adapters.sandbox.client import is_below
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
AGENT_HOME, TESTS_HOME = "/home/agent", "/tmp"

_SYSTEM = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")
_ETC = ("alternatives", "ssl", "pki", "ca-certificates", "ld.so.cache", "ld.so.conf", "localtime")
_SHARED_MEMORY = 64 * MIB
_NSSWITCH = "passwd: files\ngroup: files\nhosts: files\n"
_HOSTS = "127.0.0.1 localhost sandbox\n::1 localhost\n"


class RootFs:
    """Collects arguments; generated files travel in anonymous memory, not on disk."""

    def __init__(self) -> None:
        self.arguments: list[str] = []
        self._fds: list[int] = []
        self._made = {"/"}
        self._shown: list[tuple[Path, str]] = []

    def add(self, *arguments: str) -> None:
        self.arguments += arguments

    def parents(self, path: str) -> None:
        """Make them readable for everybody; by itself bubblewrap makes them private."""
        for parent in reversed(PurePosixPath(path).parents):
            if str(parent) not in self._made:
                self._made.add(str(parent))
                self.add("--perms", "0755", "--dir", str(parent))

    def bind(self, source: str, path: str) -> None:
        self.parents(path)
        self.add("--ro-bind", source, path)
        self._shown.append((Path(source).resolve(), path))

    def hide(self, folder: Path) -> None:
        """Cover a host folder with an empty one, wherever a mount made so far shows it."""
        folder = folder.resolve()
        for source, path in self._shown:
            if folder.is_relative_to(source) and folder != source and folder.is_dir():
                inside = str(PurePosixPath(path) / folder.relative_to(source))
                self.add("--perms", "0755", "--size", "4096", "--tmpfs", inside)
                self.add("--remount-ro", inside)

    def symlink(self, target: str, path: str) -> None:
        self.parents(path)
        self.add("--symlink", target, path)

    def file(self, path: str, text: str, mode: str = "0444") -> None:
        fd = os.memfd_create("ha")
        self._fds.append(fd)
        os.write(fd, text.encode())
        os.lseek(fd, 0, os.SEEK_SET)
        self.parents(path)
        self.add("--perms", mode, "--ro-bind-data", str(fd), path)

    def tmpfs(self, path: str, size: int, mode: str = "0755") -> None:
        self.parents(path)
        self.add("--perms", mode, "--size", str(size), "--tmpfs", path)

    @property
    def fds(self) -> tuple[int, ...]:
        return tuple(self._fds)

    def close(self) -> None:
        while self._fds:
            os.close(self._fds.pop())


@contextmanager
def root_fs(spec: SandboxSpec, python: PythonToolchain, agent: int, tests: int) -> Iterator[RootFs]:
    """The whole root; its descriptors stay open until the context ends.

    :param agent: uid and gid of ``User.AGENT`` inside; ``tests`` of ``User.TESTS``.
    """
    root = RootFs()
    try:
        _system(root)
        _accounts(root, agent, tests)
        _python(root, python, spec)
        for path in sorted(spec.writable):
            root.tmpfs(path, spec.writable[path], "1777" if path == "/tmp" else "0755")
        for mount in sorted(spec.mounts, key=lambda mount: mount.target):
            root.bind(str(mount.source), mount.target)
        for folder in spec.hidden:
            root.hide(folder)
        if spec.outlet is not None:
            root.bind(str(spec.outlet), OUTLET)
        root.add("--remount-ro", "/")
        yield root
    finally:
        root.close()


def _system(root: RootFs) -> None:
    root.bind("/usr", "/usr")
    for name in _SYSTEM:
        path = Path("/") / name
        if path.is_symlink():
            root.symlink(str(path.readlink()), str(path))
        elif path.is_dir():
            root.bind(str(path), str(path))
    for name in _ETC:
        root.parents(f"/etc/{name}")
        root.add("--ro-bind-try", f"/etc/{name}", f"/etc/{name}")
    root.add("--proc", "/proc", "--dev", "/dev")
    root.tmpfs("/dev/shm", _SHARED_MEMORY, "1777")
    root.add("--remount-ro", "/dev")
    root.symlink("/tmp", "/var/tmp")


def _accounts(root: RootFs, agent: int, tests: int) -> None:
    people = [("root", 0, "/"), ("agent", agent, AGENT_HOME)]
    if tests != agent:
        people.append(("tests", tests, TESTS_HOME))
    root.file(
        "/etc/passwd",
        "".join(f"{name}:x:{uid}:{uid}::{home}:/bin/sh\n" for name, uid, home in people),
    )
    root.file("/etc/group", "".join(f"{name}:x:{uid}:\n" for name, uid, _ in people))
    root.file("/etc/nsswitch.conf", _NSSWITCH)
    root.file("/etc/hosts", _HOSTS)


def _python(root: RootFs, python: PythonToolchain, spec: SandboxSpec) -> None:
    for mount in python.mounts:
        root.bind(str(mount.source), mount.target)
    for folder in python.hidden:
        root.tmpfs(folder, MIB)
        # what makes pytest importable also for `python -I`, which ignores PYTHONPATH
        root.file(f"{folder}/ha.pth", f"{SITE}\n")
        root.add("--remount-ro", folder)
    links, scripts = programs(python.interpreter)
    for name, target in links.items():
        root.symlink(target, f"{PROGRAMS}/{name}")
    for name, text in scripts.items():
        root.file(f"{PROGRAMS}/{name}", text, "0555")
    taken = (*spec.writable, *(mount.target for mount in spec.mounts))
    if python.prefix and not any(is_below(str(python.prefix), path) for path in taken):
        # an installation knows its own place: library search path, first lines of scripts
        root.symlink(PYTHON, str(python.prefix))
    root.bind(str(supervisor_package()), f"{SUPERVISOR}/inside")
