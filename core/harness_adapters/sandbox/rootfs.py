"""The file system of a bubblewrap sandbox, as arguments of ``bwrap``."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from harness_adapters.sandbox.base import MIB, SandboxSpec
from harness_adapters.sandbox.identities import Identities
from harness_adapters.sandbox.layout import SHARED_MEMORY, Root, furnish
from harness_adapters.sandbox.toolchain import PythonToolchain


class RootFs(Root):
    """Collects arguments; generated files travel in anonymous memory, not on disk."""

    def __init__(self) -> None:
        super().__init__()
        self.arguments: list[str] = []
        self._fds: list[int] = []
        self._made = {"/"}
        self._add("--proc", "/proc", "--dev", "/dev")
        self.memory("/dev/shm", SHARED_MEMORY, 0o1777)
        self._add("--remount-ro", "/dev")

    def _add(self, *arguments: str) -> None:
        self.arguments += arguments

    def _parents(self, path: str) -> None:
        """Make them readable for everybody; by itself bubblewrap makes them private."""
        for parent in reversed(PurePosixPath(path).parents):
            if str(parent) not in self._made:
                self._made.add(str(parent))
                self._add("--perms", "0755", "--dir", str(parent))

    def _bind(self, source: Path, path: str) -> None:
        self._parents(path)
        self._add("--ro-bind", str(source), path)

    def symlink(self, target: str, path: str) -> None:
        self._parents(path)
        self._add("--symlink", target, path)

    def file(self, path: str, text: str, mode: int = 0o444) -> None:
        fd = os.memfd_create("ha")
        self._fds.append(fd)
        os.write(fd, text.encode())
        os.lseek(fd, 0, os.SEEK_SET)
        self._parents(path)
        self._add("--perms", f"{mode:04o}", "--ro-bind-data", str(fd), path)

    def cover(self, path: str, files: Mapping[str, str]) -> None:
        self.memory(path, MIB, 0o755)
        for name, text in files.items():
            self.file(f"{path}/{name}", text)
        self._add("--remount-ro", path)

    def memory(self, path: str, size: int, mode: int) -> None:
        self._parents(path)
        self._add("--perms", f"{mode:04o}", "--size", str(size), "--tmpfs", path)

    def close_root(self) -> None:
        self._add("--remount-ro", "/")

    @property
    def fds(self) -> tuple[int, ...]:
        return tuple(self._fds)

    def close(self) -> None:
        while self._fds:
            os.close(self._fds.pop())


@contextmanager
def root_fs(spec: SandboxSpec, python: PythonToolchain, who: Identities) -> Iterator[RootFs]:
    """The whole root; its descriptors stay open until the context ends."""
    root = RootFs()
    try:
        furnish(root, spec, python, who)
        root.close_root()
        yield root
    finally:
        root.close()
