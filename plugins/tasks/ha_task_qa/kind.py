"""The ``qa`` kind: only the answer file is read, and only the host knows the right answer."""

from __future__ import annotations

import posixpath
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from ha_task_qa.grading import Expected, fold, grade
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
from harness_adapters.tasks.kind_options import kind_options
from harness_adapters.tasks.policy import task_policy
from harness_adapters.tasks.task_toml import explain
from harness_adapters.tasks.workspace import put_files

MAX_ANSWER_BYTES = 64 * 1024
MAX_EXPECTED_BYTES = 256 * 1024


class QaOptions(BaseModel):
    """``[metadata.harness_adapters.qa]``.

    :param answer_file: relative to the working folder.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    answer_file: Annotated[str, Field(min_length=1)] = "answer.txt"

    @field_validator("answer_file")
    @classmethod
    def _stays_inside(cls, value: str) -> str:
        if value.startswith("/") or ".." in value.split("/"):
            raise ValueError("must be a path below the working folder")
        return value


class Qa:
    """Score 1 for a right answer, else 0. The whole workspace may be edited: it decides nothing."""

    def __init__(self, options: Options) -> None:
        check_options("task kind qa", options)

    def check(self, task: Task) -> None:
        kind_options(task, QaOptions)
        _expected(task)

    def policy(self, task: Task) -> TaskPolicy:
        return task_policy(task)

    def degenerate(self, task: Task) -> dict[str, dict[str, FileEntry]]:
        """Answers that say nothing, or everything at once."""
        value = _expected(task).value
        right = [str(part) for part in (value if isinstance(value, tuple) else (value,))]
        place = kind_options(task, QaOptions).answer_file
        answers = {
            "empty answer": "",
            "the question as answer": task.instruction,
            "the answer among others": "\n".join(f"It may be {a}." for a in ("7", *right, "none")),
            "the answer in a sentence": f"I thought of 41, but the answer is {', '.join(right)}.",
        }
        return {
            name: {place: FileEntry(content=answer.encode())} for name, answer in answers.items()
        }

    async def prepare(self, task: Task, sandbox: Sandbox) -> None:
        await put_files(task, sandbox)

    async def verify(self, task: Task, left: Sandbox, sandboxes: SandboxProvider) -> Verdict:
        expected, options = _expected(task), kind_options(task, QaOptions)
        place = posixpath.join(task.workdir, options.answer_file)
        try:
            content = await left.read_file(place, max_bytes=MAX_ANSWER_BYTES)
        except AgentError as error:
            return _wrong(f"no readable answer: {error}")
        if content is None:
            return _wrong("no answer file")
        try:
            answer = content.decode()
        except UnicodeDecodeError:
            return _wrong("the answer is not UTF-8")
        units = frozenset(word.strip(".,;:?!()'\"") for word in fold(task.instruction).split())
        if grade(answer, expected, units=units):
            return Verdict(passed=True, score=1.0)
        return _wrong(f"wrong answer: {answer.strip()[:100]!r}")


def _wrong(detail: str) -> Verdict:
    return Verdict(passed=False, score=0.0, detail=detail)


def _expected(task: Task) -> Expected:
    path = task.path / "tests" / "expected.json"
    try:
        return Expected.model_validate_json(read_text(path, max_bytes=MAX_EXPECTED_BYTES))
    except ValidationError as error:
        raise BrokenTask(f"{path}: {explain(error, known=Expected.model_fields)}") from None
