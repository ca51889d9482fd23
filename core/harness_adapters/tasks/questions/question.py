"""What the generator yields."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from harness_adapters.tasks.questions.query import Query

AnswerType = Literal["number", "text", "list"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The gold answer. A number may be off by ``abs_tol``; a list has no order."""

    type: AnswerType
    value: int | float | str | list[str]
    abs_tol: float = 0.0
    rel_tol: float = 0.0

    def as_json(self) -> dict[str, Any]:
        return {
            "type": self.type,
            "value": self.value,
            "abs_tol": self.abs_tol,
            "rel_tol": self.rel_tol,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One data question, self-contained.

    :param id: ``qa-<table>-<number>``; unique among the questions of one call of ``generate``.
    :param table: the table's name; the cluster.
    :param family: aggregate, filter, grouping, join, text or list.
    :param format: csv, json or sqlite.
    :param files: file name -> contents; what the agent finds in its working folder.
    :param solution: source of a program that writes ``answer.txt`` (standard library only).
    """

    id: str
    table: str
    family: str
    format: str
    split: str
    difficulty: str
    instruction: str
    files: Mapping[str, bytes] = field(repr=False)
    query: Query
    answer: Answer
    solution: str = field(repr=False)
    provenance: str
