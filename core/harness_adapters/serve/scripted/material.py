"""What a play knows of a task: its files, its reference solution, its expected answer."""

from __future__ import annotations

import hashlib
import posixpath
import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import orjson

from harness_adapters.errors import HarnessAdaptersError
from harness_adapters.tasks.workspace import original_tree, read_folder
from harness_adapters.types import Task

ANSWER = "answer.txt"

_IMPORTED = re.compile(r"^\s*(?:from|import)\s+([\w.]+)", re.MULTILINE)


class Material:
    """One task as a play sees it. Paths are relative to the working folder."""

    def __init__(self, task: Task) -> None:
        self.task = task

    @cached_property
    def original(self) -> Mapping[str, bytes]:
        """The files the agent starts with."""
        return {path: entry.content for path, entry in sorted(original_tree(self.task).items())}

    @cached_property
    def solved(self) -> Mapping[str, str]:
        """The full reference text of every file that the solution changes or adds."""
        folder = self.task.path / "solution" / "files"
        if not folder.is_dir():
            return {}
        return {path: entry.content.decode() for path, entry in sorted(read_folder(folder).items())}

    @cached_property
    def script(self) -> str | None:
        """The program that works out the answer of a question."""
        path = self.task.path / "solution" / "solve.py"
        return path.read_text(encoding="utf-8") if path.is_file() else None

    @cached_property
    def expected(self) -> list[str]:
        """The expected answer, as its parts would be written."""
        path = self.task.path / "tests" / "expected.json"
        value: Any = orjson.loads(path.read_bytes())["value"] if path.is_file() else []
        return [str(part) for part in (value if isinstance(value, list) else [value])]

    @cached_property
    def data_files(self) -> Sequence[str]:
        """Files of text worth looking at; databases are left to scripts."""
        return [
            path
            for path, content in self.original.items()
            if b"\0" not in content[:4096] and not path.endswith(".py")
        ]

    @cached_property
    def visible_tests(self) -> Sequence[str]:
        """Test files in the workspace."""
        return [path for path in self.original if _is_test(path)]

    @cached_property
    def imported_by_tests(self) -> Sequence[str]:
        """The workspace's modules that visible tests import by name."""
        names = {
            name.replace(".", "/")
            for test in self.visible_tests
            for name in _IMPORTED.findall(self.before(test))
        }
        places = {
            f"{root}{name}{end}"
            for name in names
            for root in ("", "src/")
            for end in (".py", "/__init__.py")
        }
        return sorted(places & self.original.keys())

    @cached_property
    def changed(self) -> Sequence[str]:
        """Python modules that the solution changes, in the state the agent finds them."""
        return [path for path in self.solved if path in self.original and path.endswith(".py")]

    def before(self, path: str) -> str:
        return self.original[path].decode()

    @property
    def solvable(self) -> bool:
        try:
            return bool(self.solved) or self.script is not None
        except (HarnessAdaptersError, OSError, UnicodeDecodeError):
            return False

    @property
    def number(self) -> int:
        """The same for the same instruction; picks without a random state."""
        return int.from_bytes(hashlib.sha256(self.task.instruction.encode()).digest()[:8], "big")


def _is_test(path: str) -> bool:
    name = posixpath.basename(path)
    return name.endswith("_test.py") or (name.startswith("test_") and name.endswith(".py"))
