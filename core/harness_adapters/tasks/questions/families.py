"""The families of questions: which query each draws for a table and its rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import NamedTuple

from harness_adapters.tasks.questions.dice import Dice
from harness_adapters.tasks.questions.query import Condition, Measure, Op, Query
from harness_adapters.tasks.questions.tables import Row, Table

_NUMERIC = (Measure.SUM, Measure.MEAN, Measure.MEDIAN, Measure.MIN, Measure.MAX)


class Family(NamedTuple):
    """A family draws its query from the table and its (joined) rows."""

    difficulty: str
    draw: Callable[[Table, Sequence[Row], Dice], Query]


def _aggregate(table: Table, rows: Sequence[Row], dice: Dice) -> Query:
    measure = dice.pick((*_NUMERIC, Measure.COUNT))
    if measure is Measure.COUNT:
        return Query(measure=measure)
    return Query(measure=measure, column=dice.pick(table.numbers))


def _filter(table: Table, rows: Sequence[Row], dice: Dice) -> Query:
    measure = dice.pick((*_NUMERIC, Measure.COUNT, Measure.COUNT, Measure.COUNT))
    column, *others = dice.shuffled(table.numbers)
    conditions = dice.some(
        [
            _is(dice.pick(table.categories), rows, dice),
            # Not on the measured column: the bound itself would nearly be its maximum.
            _threshold(dice.pick(others), rows, dice),
            _since(table.date, rows, dice),
        ],
        dice.pick((1, 1, 2)),
    )
    return Query(
        measure=measure,
        column=None if measure is Measure.COUNT else column,
        where=tuple(conditions),
    )


def _grouping(table: Table, rows: Sequence[Row], dice: Dice) -> Query:
    measure = dice.pick((Measure.SUM, Measure.MEAN, Measure.MAX, Measure.COUNT))
    return Query(
        measure=measure,
        column=None if measure is Measure.COUNT else dice.pick(table.numbers),
        where=(_since(table.date, rows, dice),) if dice.chance(0.2) else (),
        group=dice.pick(table.categories),
        smallest=dice.chance(0.3),
    )


def _join(table: Table, rows: Sequence[Row], dice: Dice) -> Query:
    measure = dice.pick((Measure.SUM, Measure.MEAN, Measure.COUNT))
    column = None if measure is Measure.COUNT else dice.pick(table.numbers)
    companion = table.companion
    if dice.chance(0.4):
        group = dice.pick((companion.noun, companion.category))
        return Query(measure=measure, column=column, group=group, joined=True)
    condition = dice.pick(
        (
            _is(companion.category, rows, dice),
            _is(companion.noun, rows, dice),
            _threshold(companion.number, rows, dice),
        )
    )
    return Query(measure=measure, column=column, where=(condition,), joined=True)


def _text(table: Table, rows: Sequence[Row], dice: Dice) -> Query:
    where = (_is(dice.pick(table.categories), rows, dice),) if dice.chance(0.5) else ()
    match dice.pick((Measure.DISTINCT, Measure.LONGEST, Measure.COUNT)):
        case Measure.DISTINCT:
            column = dice.pick((table.label, table.label, table.label, *table.categories))
            # With few rows left, not every category is: the answer is not simply their number.
            condition = _threshold(dice.pick(table.numbers), rows, dice, edge=column != table.label)
            return Query(measure=Measure.DISTINCT, column=column, where=(condition,))
        case Measure.LONGEST:
            return Query(measure=Measure.LONGEST, column=table.label, where=where)
        case _:
            return Query(measure=Measure.COUNT, where=(_contains(table.label, rows, dice), *where))


def _list(table: Table, rows: Sequence[Row], dice: Dice) -> Query:
    column = dice.pick((table.label, table.label, *table.categories))
    conditions = [
        _threshold(dice.pick(table.numbers), rows, dice, edge=True),
        _since(table.date, rows, dice, edge=True),
        *(_is(name, rows, dice) for name in table.categories if name != column),
    ]
    where = tuple(dice.some(conditions, dice.pick((1, 2))))
    return Query(measure=Measure.VALUES, column=column, where=where)


FAMILIES: dict[str, Family] = {
    "aggregate": Family("easy", _aggregate),
    "filter": Family("easy", _filter),
    "grouping": Family("medium", _grouping),
    "join": Family("hard", _join),
    "text": Family("medium", _text),
    "list": Family("medium", _list),
}


def _is(column: str, rows: Sequence[Row], dice: Dice) -> Condition:
    return Condition(column, Op.IS, dice.pick(sorted({str(row[column]) for row in rows})))


def _threshold(column: str, rows: Sequence[Row], dice: Dice, *, edge: bool = False) -> Condition:
    """Above or below one of the column's own values; at the ``edge`` few rows are left."""
    values = sorted(value for row in rows if isinstance(value := row[column], int | Decimal))
    op = dice.pick((Op.ABOVE, Op.BELOW))
    share = dice.between(80, 94) if edge else dice.between(25, 75)
    position = len(values) * (share if op is Op.ABOVE else 100 - share) // 100
    return Condition(column, op, values[position])


def _since(column: str, rows: Sequence[Row], dice: Dice, *, edge: bool = False) -> Condition:
    days = sorted(str(row[column]) for row in rows)
    op = dice.pick((Op.FROM_DATE, Op.BEFORE_DATE))
    share = dice.between(80, 94) if edge else dice.between(25, 75)
    position = len(days) * (share if op is Op.FROM_DATE else 100 - share) // 100
    return Condition(column, op, days[position])


def _contains(column: str, rows: Sequence[Row], dice: Dice) -> Condition:
    text = str(dice.pick(rows)[column]).lower()
    start = dice.between(0, len(text) - 2)
    return Condition(column, Op.CONTAINS, text[start : start + 2].strip() or text[0])
