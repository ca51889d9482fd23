"""What an agent leaves, with what it had no business to change as it was at the start."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePosixPath

from harness_adapters.sandbox.base import FileEntry
from harness_adapters.tasks.globs import matches, may_edit
from harness_adapters.types import TaskPolicy

HOOKS = ("**/conftest.py", "**/sitecustomize.py", "**/usercustomize.py", "**/*.pth")
"""What decides how tests run, and what Python loads unasked."""

TESTS = ("**/test_*.py", "**/*_test.py")

Tree = Mapping[str, FileEntry]


def old_tests(original: Tree) -> tuple[str, ...]:
    """The tests that stand there at the start, and what hooks into them. One that the agent writes
    for itself is its own business."""
    return tuple(sorted(path for path in original if matches(path, (*TESTS, *HOOKS))))


def restored(tree: Tree, original: Tree, policy: TaskPolicy) -> dict[str, FileEntry]:
    """The agent's tree with every protected file as it was at the start, and no other one.

    Hooks that a test runner or Python would load unasked count as protected even where the task
    lets everything be edited, unless they stood there at the start.
    """

    def kept(path: str) -> bool:
        if matches(path, HOOKS) and path not in original:
            return False
        return _may_edit(path, policy)

    theirs = {path: entry for path, entry in tree.items() if kept(path)}
    ours = {path: entry for path, entry in original.items() if not kept(path)}
    # An agent's file where a protected file needs a folder, or the other way round, gives way.
    folders = {str(parent) for path in ours for parent in PurePosixPath(path).parents}
    return {
        path: entry
        for path, entry in theirs.items()
        if path not in folders and not any(str(p) in ours for p in PurePosixPath(path).parents)
    } | ours


def touched(tree: Tree, original: Tree, policy: TaskPolicy) -> list[str]:
    """Protected files of the start that are gone or have other content. New files do not count:
    running tests leaves caches beside them."""
    return [
        path
        for path, entry in sorted(original.items())
        if not _may_edit(path, policy) and (path not in tree or tree[path].content != entry.content)
    ]


def _may_edit(path: str, policy: TaskPolicy) -> bool:
    return may_edit(path, editable=policy.editable, protected=policy.protected)
