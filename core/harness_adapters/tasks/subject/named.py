"""The names of hidden tests, read without running them."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from pathlib import Path

from harness_adapters.errors import BrokenTask
from harness_adapters.syntax_tree import parse_python
from harness_adapters.tasks.contents import list_files, read_text
from harness_adapters.types import Task

MAX_TEST_BYTES = 1024 * 1024


def check_named(task: Task, tests: Collection[str], *, field: str) -> None:
    """Whether the bundle's ``tests/`` has every test that ``task.toml`` names.

    :param tests: ids, ``test_x.py::test_a``, with or without parameters.
    :param field: of the kind's own table, for the message.
    :raises BrokenTask: it has not.
    """
    known = hidden_tests(task)
    for test in tests:
        if plain_id(test) not in known:
            raise BrokenTask(
                f"{task.path / 'task.toml'}: metadata.harness_adapters.{task.kind}.{field}: "
                f"there is no test {test!r} in tests/"
            )


def hidden_tests(task: Task) -> set[str]:
    """Ids of the bundle's hidden tests, without parameters: ``test_x.py::TestA::test_b``."""
    folder = task.path / "tests"
    if not folder.is_dir():
        return set()
    return {
        f"{name}::{test}"
        for name, path in list_files(folder).items()
        if name.endswith(".py")
        for test in _tests(Path(path))
    }


def plain_id(test: str) -> str:
    """A test's id without its parameters."""
    return test.partition("[")[0]


def _tests(path: Path) -> Iterator[str]:
    try:
        tree = parse_python(read_text(path, max_bytes=MAX_TEST_BYTES))
    except (BrokenTask, SyntaxError, ValueError):
        return  # pytest will report it as what it is
    if isinstance(tree, ast.Module):
        yield from _named(tree.body, "")


def _named(body: list[ast.stmt], prefix: str) -> Iterator[str]:
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            if node.name.startswith("test"):
                yield prefix + node.name
        elif isinstance(node, ast.ClassDef) and node.name.startswith("Test"):
            yield from _named(node.body, f"{prefix}{node.name}::")
