"""The ``repair`` kind: hidden tests that fail on the bug must pass, and all others still pass."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from harness_adapters import (
    AgentError,
    BrokenTask,
    FileEntry,
    Options,
    Sandbox,
    SandboxProvider,
    Task,
    TaskPolicy,
    Verdict,
)
from harness_adapters.options import check_options
from harness_adapters.tasks.contents import read_text
from harness_adapters.tasks.globs import matches
from harness_adapters.tasks.policy import task_policy
from harness_adapters.tasks.subject import TestReport, verify_tests
from harness_adapters.tasks.task_toml import explain
from harness_adapters.tasks.workspace import MAX_TREE_BYTES, original_tree, put_files

# What decides how tests run or which do, and what Python loads unasked.
HOOKS = ("**/conftest.py", "**/sitecustomize.py", "**/usercustomize.py", "**/*.pth")
PROTECTED = (
    "tests/**",
    *HOOKS,
    "pytest.ini",
    ".pytest.ini",
    "tox.ini",
    "setup.cfg",
    "pyproject.toml",
)

TESTS = ("**/test_*.py", "**/*_test.py")
MAX_TEST_BYTES = 1024 * 1024


class RepairOptions(BaseModel):
    """``[metadata.harness_adapters.repair]``.

    :param fail_to_pass: ids of hidden tests that fail before the fix, ``test_x.py::test_a``.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    fail_to_pass: Annotated[tuple[str, ...], Field(min_length=1)]


class Repair:
    """Score 1 when every test of ``fail_to_pass`` and every other hidden test passes, else 0."""

    def __init__(self, options: Options) -> None:
        check_options("task kind repair", options)

    def check(self, task: Task) -> None:
        for test in _options(task).fail_to_pass:
            file, _, function = test.partition("[")[0].partition("::")
            path = task.path / "tests" / file
            if function.split("::")[-1] not in _functions(path):
                raise BrokenTask(
                    f"{task.path / 'task.toml'}: metadata.harness_adapters.repair.fail_to_pass: "
                    f"there is no test {test!r} in tests/"
                )

    def policy(self, task: Task) -> TaskPolicy:
        # Tests that stand there; one that the agent writes for itself is its own business.
        tests = (path for path in original_tree(task) if matches(path, TESTS))
        return task_policy(task, protected=(*PROTECTED, *sorted(tests)))

    async def prepare(self, task: Task, sandbox: Sandbox) -> None:
        await put_files(task, sandbox)

    async def verify(self, task: Task, left: Sandbox, sandboxes: SandboxProvider) -> Verdict:
        try:
            tree = await left.read_tree(task.workdir, max_bytes=MAX_TREE_BYTES)
        except AgentError as error:
            return Verdict(passed=False, score=0.0, detail=str(error), broke_verifier=True)
        report = await verify_tests(
            task,
            restored(tree, original_tree(task), self.policy(task)),
            sandboxes,
            tests_dir=task.path / "tests",
            seconds=task.limits.verifier_seconds,
            expected=_options(task).fail_to_pass,
        )
        return _verdict(report)


def restored(
    tree: Mapping[str, FileEntry], original: Mapping[str, FileEntry], policy: TaskPolicy
) -> dict[str, FileEntry]:
    """The agent's tree with every protected file as it was at the start, and no other one.

    Hooks that a test runner or Python would load unasked count as protected even where the task
    lets everything be edited, unless they stood there at the start.
    """

    def kept(path: str) -> bool:
        if matches(path, HOOKS) and path not in original:
            return False
        return matches(path, policy.editable) or not matches(path, policy.protected)

    theirs = {path: entry for path, entry in tree.items() if kept(path)}
    ours = {path: entry for path, entry in original.items() if not kept(path)}
    # An agent's file where a protected file needs a folder, or the other way round, gives way.
    folders = {str(parent) for path in ours for parent in PurePosixPath(path).parents}
    return {
        path: entry
        for path, entry in theirs.items()
        if path not in folders and not any(str(p) in ours for p in PurePosixPath(path).parents)
    } | ours


def _functions(path: Path) -> set[str]:
    """Names of the test functions of a hidden test file; none where there is no such file."""
    try:
        tree = ast.parse(read_text(path, max_bytes=MAX_TEST_BYTES))
    except (BrokenTask, SyntaxError, ValueError):
        return set()
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    return {node.name for node in ast.walk(tree) if isinstance(node, functions)}


def _options(task: Task) -> RepairOptions:
    try:
        return RepairOptions.model_validate(dict(task.options))
    except ValidationError as error:
        known = RepairOptions.model_fields
        text = explain(error, table="metadata.harness_adapters.repair", known=known)
        raise BrokenTask(f"{task.path / 'task.toml'}: {text}") from None


def _verdict(report: TestReport) -> Verdict:
    if report.broke:
        return Verdict(
            passed=False,
            score=0.0,
            detail=report.broke,
            broke_verifier=True,
            tests=report.results,
        )
    if not report.not_passed:
        return Verdict(passed=True, score=1.0, tests=report.results)
    first = report.not_passed[0]
    detail = f"{len(report.not_passed)} of {len(report.results)} tests did not pass; {first}: "
    return Verdict(
        passed=False,
        score=0.0,
        detail=detail + report.reasons.get(first, ""),
        tests=report.results,
    )
