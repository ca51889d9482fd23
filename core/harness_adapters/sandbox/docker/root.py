"""The file system of a container: what its image has, and what is mounted into it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from harness_adapters.sandbox.layout import Root


class ContainerRoot(Root):
    """Collects mounts, in the API's terms, and the links that the image has to have.

    :param folder: for generated files; it has to stay until the container is gone.
    """

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._folder = folder
        self.links: dict[str, str] = {}
        self.mounts: list[dict[str, Any]] = []
        self.memories: dict[str, str] = {}
        # The engine would put the host's own in there.
        self.file("/etc/hostname", "sandbox\n")
        self.file("/etc/resolv.conf", "")

    def _bind(self, source: Path, path: str) -> None:
        # Not recursive: older engines leave what is mounted below writable.
        self.mounts.append(
            {
                "Type": "bind",
                "Source": str(source.absolute()),
                "Target": path,
                "ReadOnly": True,
                "BindOptions": {"NonRecursive": True, "Propagation": "private"},
            }
        )

    def symlink(self, target: str, path: str) -> None:
        self.links[path] = target

    def file(self, path: str, text: str, mode: int = 0o444) -> None:
        self._bind(_written(self._next(), text, mode), path)

    def cover(self, path: str, files: Mapping[str, str]) -> None:
        folder = self._next()
        folder.mkdir()
        for name, text in files.items():
            _written(folder / name, text, 0o444)
        folder.chmod(0o755)
        self._bind(folder, path)

    def memory(self, path: str, size: int, mode: int) -> None:
        self.memories[path] = f"rw,exec,nosuid,nodev,size={size},mode={mode:04o}"

    def _next(self) -> Path:
        return self._folder / str(len(self.mounts))


def _written(path: Path, text: str, mode: int) -> Path:
    path.write_text(text)
    path.chmod(mode)
    return path
