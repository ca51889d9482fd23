"""The ``build`` kind: from an empty folder or a scaffold to what an interface contract asks for."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

from harness_adapters import (
    AgentError,
    BrokenTask,
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
from harness_adapters.tasks.protection import old_tests, restored, touched
from harness_adapters.tasks.subject import hidden_tests, verify_tests
from harness_adapters.tasks.workspace import MAX_TREE_BYTES, original_tree, put_files


class BuildOptions(BaseModel):
    """``[metadata.harness_adapters.build]`` has no fields: every hidden test counts alike."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Build:
    """Score: the share of hidden tests that pass; 0 when a protected file was changed.

    Protected are the tests that the scaffold has, and what the task lists, such as the contract. An
    agent's own tests and settings are its own business.
    """

    def __init__(self, options: Options) -> None:
        check_options("task kind build", options)

    def check(self, task: Task) -> None:
        kind_options(task, BuildOptions)
        if not hidden_tests(task):
            raise BrokenTask(f"{task.path / 'tests'}: a build task needs hidden tests there")

    def policy(self, task: Task) -> TaskPolicy:
        return task_policy(task, protected=old_tests(original_tree(task)))

    async def prepare(self, task: Task, sandbox: Sandbox) -> None:
        await put_files(task, sandbox)

    async def verify(self, task: Task, left: Sandbox, sandboxes: SandboxProvider) -> Verdict:
        try:
            tree = await left.read_tree(task.workdir, max_bytes=MAX_TREE_BYTES)
        except AgentError as error:
            return Verdict(passed=False, score=0.0, detail=str(error), broke_verifier=True)
        original, policy = original_tree(task), self.policy(task)
        if changed := touched(tree, original, policy):
            return Verdict(
                passed=False, score=0.0, detail=f"a protected file was changed: {changed[0]}"
            )
        report = await verify_tests(
            task,
            restored(tree, original, policy),
            sandboxes,
            tests_dir=task.path / "tests",
            seconds=task.limits.verifier_seconds,
        )
        return report.verdict(report.share())
