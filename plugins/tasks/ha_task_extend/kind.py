"""The ``extend`` kind: a working project gets a feature, and all that worked still works."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

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
from harness_adapters.tasks.protection import old_tests, restored
from harness_adapters.tasks.subject import check_named, hidden_tests, plain_id, verify_tests
from harness_adapters.tasks.workspace import MAX_TREE_BYTES, original_tree, put_files


class ExtendOptions(BaseModel):
    """``[metadata.harness_adapters.extend]``.

    :param new_tests: ids of the hidden tests of the feature, ``test_x.py::test_a``; all other
        hidden tests are old ones, which pass before the work too.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    new_tests: Annotated[tuple[str, ...], Field(min_length=1)]


class Extend:
    """Score: the share of new tests that pass, if all old ones do; else 0.

    The project's own tests are protected, and are as they were when it is graded.
    """

    def __init__(self, options: Options) -> None:
        check_options("task kind extend", options)

    def check(self, task: Task) -> None:
        new = kind_options(task, ExtendOptions).new_tests
        check_named(task, new, field="new_tests")
        if hidden_tests(task) <= {plain_id(test) for test in new}:
            raise BrokenTask(
                f"{task.path / 'tests'}: every hidden test is among new_tests; an extend task "
                "needs old ones too"
            )

    def policy(self, task: Task) -> TaskPolicy:
        return task_policy(task, protected=old_tests(original_tree(task)))

    async def prepare(self, task: Task, sandbox: Sandbox) -> None:
        await put_files(task, sandbox)

    async def verify(self, task: Task, left: Sandbox, sandboxes: SandboxProvider) -> Verdict:
        try:
            tree = await left.read_tree(task.workdir, max_bytes=MAX_TREE_BYTES)
        except AgentError as error:
            return Verdict(passed=False, score=0.0, detail=str(error), broke_verifier=True)
        new = kind_options(task, ExtendOptions).new_tests
        report = await verify_tests(
            task,
            restored(tree, original_tree(task), self.policy(task)),
            sandboxes,
            tests_dir=task.path / "tests",
            seconds=task.limits.verifier_seconds,
            expected=new,
        )
        broken_again = set(report.not_passed) - set(new)
        return report.verdict(0.0 if broken_again else report.share(new))
