"""The ``repair`` kind: hidden tests that fail on the bug must pass, and all others still pass."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from harness_adapters import (
    AgentError,
    Options,
    Sandbox,
    SandboxProvider,
    Task,
    TaskPolicy,
    Verdict,
)
from harness_adapters.options import check_options
from harness_adapters.tasks.kind_options import kind_options
from harness_adapters.tasks.policy import task_policy
from harness_adapters.tasks.protection import HOOKS, old_tests, restored
from harness_adapters.tasks.subject import check_named, verify_tests
from harness_adapters.tasks.workspace import MAX_TREE_BYTES, original_tree, put_files

# What decides how tests run or which do.
PROTECTED = (
    "tests/**",
    *HOOKS,
    "pytest.ini",
    ".pytest.ini",
    "tox.ini",
    "setup.cfg",
    "pyproject.toml",
)


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
        named = kind_options(task, RepairOptions).fail_to_pass
        check_named(task, named, field="fail_to_pass")

    def policy(self, task: Task) -> TaskPolicy:
        return task_policy(task, protected=(*PROTECTED, *old_tests(original_tree(task))))

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
            expected=kind_options(task, RepairOptions).fail_to_pass,
        )
        return report.verdict(0.0 if report.not_passed else 1.0)
