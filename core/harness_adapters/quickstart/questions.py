"""Data questions that the tiny policy can answer: of kind ``qa``, about one CSV file each.

They are drawn from the tables of :mod:`harness_adapters.tasks.questions` and worded, solved and
graded as all its questions are; only the choice of queries is narrower. A combination of measure,
column, condition and grouping is either held out or trained on, never both, whatever the seed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from decimal import Decimal

from harness_adapters.errors import BadInput
from harness_adapters.tasks.questions import data_files, solution, wording
from harness_adapters.tasks.questions.dice import Dice
from harness_adapters.tasks.questions.query import Condition, Measure, Op, Query, answer
from harness_adapters.tasks.questions.question import Question
from harness_adapters.tasks.questions.tables import (
    MAX_TABLES,
    Row,
    Table,
    draw_rows,
)
from harness_adapters.tasks.questions.tables import (
    tables as first_tables,
)

SPLITS = ("train", "test")
FAMILIES = ("aggregate", "filter", "grouping")
BOUND = "bound"
"""A filter that always compares with a number, which is the hardest to copy into a command."""
_NUMERIC = (Measure.SUM, Measure.MEAN, Measure.MIN, Measure.MAX)
_ATTEMPTS = 500  # draws per question; about one in three is unambiguous and of the right part
_HELD_OUT_SHARE = 4  # one combination in so many is held out


def questions(
    seed: int, count: int, split: str, kinds: Sequence[str] = FAMILIES
) -> Iterator[Question]:
    """``count`` different questions, every table of the split once before any comes twice.

    :param split: ``train``, or ``test`` for held-out tables and held-out combinations.
    :param kinds: of :data:`FAMILIES` and :data:`BOUND`; they take turns.
    :raises BadInput: no such split, or so many questions do not exist.
    """
    if split not in SPLITS:
        raise BadInput(f"no split {split!r}; there are {', '.join(SPLITS)}")
    if count < 1:
        raise BadInput(f"{count} questions asked for; at least 1 is made")
    return _questions(seed, count, split, kinds)


def combination(query: Query) -> tuple[str, ...]:
    """What is asked, without the table and the values: measure, column, condition, grouping."""
    where = "+".join(f"{condition.column} {condition.op}" for condition in query.where)
    return (query.measure, query.column or "", where, query.group or "")


def held_out(query: Query) -> bool:
    """Whether no question of the train split asks this combination."""
    digest = hashlib.sha256("|".join(combination(query)).encode()).digest()
    return digest[0] % _HELD_OUT_SHARE == 0


def _questions(seed: int, count: int, split: str, kinds: Sequence[str]) -> Iterator[Question]:
    dice = Dice("quick start", split, seed)
    chosen = [table for table in first_tables(MAX_TABLES) if table.split == split]
    queue: list[Table] = []
    seen: set[str] = set()
    number = 0
    while number < count:
        queue = queue or dice.shuffled(chosen)
        question = _question(seed, number, queue.pop(), kinds[number % len(kinds)], seen)
        if question is None:  # no combination of this table and kind belongs to this split
            continue
        seen.add(question.instruction)
        number += 1
        yield question


def _question(seed: int, number: int, table: Table, kind: str, seen: set[str]) -> Question | None:
    for attempt in range(_ATTEMPTS):
        dice = Dice("quick start question", table.split, seed, number, table.name, attempt)
        query = _draw(kind, table, dice)
        if held_out(query) != (table.split == "test"):
            continue
        rows = draw_rows(table, dice)
        query = _with_values(query, rows, dice)
        gold = answer(query, rows)
        if gold is None:
            continue
        instruction = wording.instruction(query, table, "csv", dice)
        if instruction in seen:
            continue
        return Question(
            id=f"qa-{table.name.replace('_', '-')}-{number:04d}",
            table=table.name,
            family="filter" if kind == BOUND else kind,
            format="csv",
            split=table.split,
            difficulty="easy",
            instruction=instruction,
            files=data_files.encode("csv", table.name, {table.name: rows}),
            query=query,
            answer=gold,
            solution=solution.program(query, table, "csv"),
            provenance=f"generated: quick start, seed {seed}, question {number}",
        )
    return None


def _draw(kind: str, table: Table, dice: Dice) -> Query:
    """A query whose condition has no value yet."""
    column, other = dice.shuffled(table.numbers)[:2]
    first, second = dice.shuffled(table.categories)[:2]
    if kind == "aggregate":
        return Query(measure=dice.pick(_NUMERIC), column=column)
    if kind in ("filter", BOUND):
        measure = dice.pick((Measure.COUNT, *_NUMERIC))
        if kind == BOUND or dice.chance(0.4):
            # Not on the measured column: the bound itself would nearly be its maximum.
            condition = Condition(other, dice.pick((Op.ABOVE, Op.BELOW)), 0)
        else:
            condition = Condition(first, Op.IS, "")
        counted = measure is Measure.COUNT
        return Query(measure=measure, column=None if counted else column, where=(condition,))
    measure = dice.pick((Measure.COUNT, Measure.SUM, Measure.MEAN))
    return Query(
        measure=measure,
        column=None if measure is Measure.COUNT else column,
        where=(Condition(second, Op.IS, ""),) if dice.chance(0.2) else (),
        group=first,
        smallest=dice.chance(0.3),
    )


def _with_values(query: Query, rows: Sequence[Row], dice: Dice) -> Query:
    """``query`` with each condition's value taken from the rows."""
    where = tuple(
        replace(condition, value=_value(condition, rows, dice)) for condition in query.where
    )
    return replace(query, where=where)


def _value(condition: Condition, rows: Sequence[Row], dice: Dice) -> int | Decimal | str:
    if condition.op is Op.IS:
        return dice.pick(sorted({str(row[condition.column]) for row in rows}))
    numbers = sorted(
        value for row in rows if isinstance(value := row[condition.column], int | Decimal)
    )
    return numbers[len(numbers) * dice.between(25, 75) // 100]
