"""The seeded generator."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from harness_adapters.errors import BadInput
from harness_adapters.tasks.questions import data_files, solution, wording
from harness_adapters.tasks.questions.dice import Dice
from harness_adapters.tasks.questions.families import FAMILIES
from harness_adapters.tasks.questions.query import answer
from harness_adapters.tasks.questions.question import Question
from harness_adapters.tasks.questions.tables import (
    MAX_TABLES,
    Row,
    Table,
    draw_companion,
    draw_rows,
)
from harness_adapters.tasks.questions.tables import (
    tables as first_tables,
)

SPLITS = ("train", "dev", "test")
_ATTEMPTS = 200  # draws per question; one in about three is unambiguous
MAX_QUESTIONS = 100_000
"""Asked for more, it would run for minutes before it could say that so many do not exist."""


def generate(
    seed: int, count: int, tables: int = 60, split: str | None = None
) -> Iterator[Question]:
    """``count`` different questions, every table once before any comes twice.

    The first questions stay the same when ``count`` grows. Families take turns, and so do formats.

    :param tables: how many tables to ask about, before ``split`` narrows them.
    :param split: only tables of this split.
    :raises BadInput: no such split or number of tables, or so many questions do not exist.
    """
    if split is not None and split not in SPLITS:
        raise BadInput(f"no split {split!r}; there are {', '.join(SPLITS)}")
    if not 1 <= tables <= MAX_TABLES:
        raise BadInput(f"{tables} tables asked for; there are 1 to {MAX_TABLES}")
    if not 1 <= count <= MAX_QUESTIONS:
        raise BadInput(f"{count} questions asked for; 1 to {MAX_QUESTIONS} are made at once")
    chosen = [table for table in first_tables(tables) if split in (None, table.split)]
    if not chosen:
        raise BadInput(f"none of the first {tables} tables is in split {split!r}")
    return _questions(seed, count, chosen)


def _questions(seed: int, count: int, chosen: list[Table]) -> Iterator[Question]:
    dice = Dice("order", seed)
    families = list(FAMILIES)
    seen: set[str] = set()
    queue: list[Table] = []
    for number in range(count):
        queue = queue or dice.shuffled(chosen)
        table = queue.pop()
        family = families[number % len(families)]
        # Shifted after each round of families, so that every family meets every format.
        format = data_files.FORMATS[(number + number // len(families)) % len(data_files.FORMATS)]
        question = _question(seed, number, table, family, format, seen)
        seen.add(_fingerprint(question.instruction))
        yield question


def _question(
    seed: int, number: int, table: Table, family: str, format: str, seen: set[str]
) -> Question:
    for attempt in range(_ATTEMPTS):
        dice = Dice("question", seed, number, table.name, attempt)
        rows = draw_rows(table, dice)
        contents: dict[str, list[Row]] = {table.name: rows}
        joined = rows
        if family == "join":
            others = draw_companion(table.companion, dice)
            key = table.companion.key
            by_key = {other[key]: other for other in others}
            contents[table.name] = rows = [row | {key: dice.pick(others)[key]} for row in rows]
            contents[table.companion.plural] = others
            joined = [row | by_key[row[key]] for row in rows]
        query = FAMILIES[family].draw(table, joined, dice)
        gold = answer(query, joined)
        if gold is None:
            continue
        instruction = wording.instruction(query, table, format, dice)
        if _fingerprint(instruction) in seen:
            continue
        return Question(
            id=f"qa-{table.name.replace('_', '-')}-{number:04d}",
            table=table.name,
            family=family,
            format=format,
            split=table.split,
            difficulty=FAMILIES[family].difficulty,
            instruction=instruction,
            files=data_files.encode(format, table.name, contents),
            query=query,
            answer=gold,
            solution=solution.program(query, table, format),
            provenance=f"generated: seed {seed}, question {number}",
        )
    raise BadInput(
        f"no further {family} question about table {table.name!r} after {number}; "
        "ask for fewer questions or more tables"
    )


def _fingerprint(instruction: str) -> str:
    """Of the wording; whoever finds a task by its exact instruction must find only one."""
    return hashlib.sha256(instruction.encode()).hexdigest()[:16]
