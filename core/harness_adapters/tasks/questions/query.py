"""Questions as small queries, and their exact answers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction

from harness_adapters.tasks.questions.question import Answer
from harness_adapters.tasks.questions.tables import Row, Value
from harness_adapters.tasks.questions.vocabulary import NUMBERS

TOLERANCE = 0.01
"""Accepted error of an answer that is not a whole number; the instruction states it."""


class Op(StrEnum):
    IS = "is"
    ABOVE = "above"
    BELOW = "below"
    FROM_DATE = "from_date"
    BEFORE_DATE = "before_date"
    CONTAINS = "contains"  # in any letter case


@dataclass(frozen=True, slots=True)
class Condition:
    """Rows in which the column's value is missing do not fulfil it."""

    column: str
    op: Op
    value: int | Decimal | str

    def holds(self, row: Row) -> bool:
        value = row[self.column]
        match self.op:
            case Op.IS:
                return value == self.value
            case Op.CONTAINS:
                return str(self.value).lower() in str(value).lower()
            case Op.FROM_DATE:
                return str(value) >= str(self.value)
            case Op.BEFORE_DATE:
                return str(value) < str(self.value)
            case Op.ABOVE:
                return value is not None and Fraction(value) > Fraction(self.value)
            case Op.BELOW:
                return value is not None and Fraction(value) < Fraction(self.value)


class Measure(StrEnum):
    SUM = "sum"
    MEAN = "mean"
    MEDIAN = "median"
    MIN = "min"
    MAX = "max"
    COUNT = "count"  # rows; needs no column
    DISTINCT = "distinct"
    LONGEST = "longest"  # the longest text
    VALUES = "values"  # every different text, as a list


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """``measure`` of ``column`` over the rows that fulfil all of ``where``.

    :param group: when given, the answer is the value of this column whose group has the largest
        (or, with ``smallest``, the smallest) measure.
    :param joined: rows are joined with those of the table's companion first.
    """

    measure: Measure
    column: str | None = None
    where: tuple[Condition, ...] = ()
    group: str | None = None
    smallest: bool = False
    joined: bool = False

    @property
    def whole(self) -> bool:
        """Whether the measure is a whole number whatever the rows hold."""
        if self.measure in (Measure.COUNT, Measure.DISTINCT):
            return True
        if self.measure in (Measure.MEAN, Measure.MEDIAN):
            return False
        return self.column in NUMBERS and NUMBERS[self.column].decimals == 0


def answer(query: Query, rows: Sequence[Row]) -> Answer | None:
    """The answer, or ``None`` where the question would be a poor one: too few rows, all rows
    fulfil the conditions, a tie or near tie, a result that rounds up or down by a hair."""
    selected = [row for row in rows if all(condition.holds(row) for condition in query.where)]
    if len(selected) < 3 or (query.where and len(selected) == len(rows)):
        return None
    if query.group is not None:
        return _best_group(query, query.group, selected)
    if query.measure is Measure.VALUES:
        return _values(query, selected, rows)
    if query.measure is Measure.LONGEST:
        return _longest(_texts(query, selected))
    value = _measured(query, selected)
    if value is None:
        return None
    if query.whole:
        return Answer(type="number", value=int(value))
    cents = value * 100
    if abs(cents % 1 - Fraction(1, 2)) < Fraction(1, 20):
        return None
    return Answer(type="number", value=float(Decimal(round(cents)) / 100), abs_tol=TOLERANCE)


def _measured(query: Query, rows: Sequence[Row]) -> Fraction | None:
    if query.measure is Measure.COUNT:
        return Fraction(len(rows))
    assert query.column is not None
    if query.measure is Measure.DISTINCT:
        return Fraction(len({row[query.column] for row in rows}))
    numbers = sorted(Fraction(value) for value in _present(query.column, rows))
    if not numbers:
        return None
    middle = len(numbers) // 2
    match query.measure:
        case Measure.SUM:
            return sum(numbers, Fraction(0))
        case Measure.MEAN:
            return sum(numbers, Fraction(0)) / len(numbers)
        case Measure.MEDIAN:
            return (numbers[middle] + numbers[-middle - 1]) / 2
        case Measure.MIN:
            return numbers[0]
        case _:
            return numbers[-1]


def _best_group(query: Query, group: str, rows: Sequence[Row]) -> Answer | None:
    members: dict[Value, list[Row]] = {}
    for row in rows:
        members.setdefault(row[group], []).append(row)
    measured = {name: _measured(query, group_rows) for name, group_rows in members.items()}
    if len(measured) < 3 or None in measured.values():
        return None
    ranked = sorted(
        ((value, str(name)) for name, value in measured.items() if value is not None),
        reverse=not query.smallest,
    )
    (best, name), (second, _) = ranked[:2]
    # A near tie would turn on rounding; a wide margin keeps the answer the same however computed.
    if abs(best - second) * 100 <= max(abs(best), abs(second)):
        return None
    return Answer(type="text", value=name)


def _values(query: Query, selected: Sequence[Row], rows: Sequence[Row]) -> Answer | None:
    found = sorted(set(_texts(query, selected)))
    if not 2 <= len(found) <= 6 or len(found) == len(set(_texts(query, rows))):
        return None
    return Answer(type="list", value=found)


def _longest(texts: Iterable[str]) -> Answer | None:
    longest = sorted(set(texts), key=len, reverse=True)[:2]
    if len(longest) < 2 or len(longest[0]) == len(longest[1]):
        return None
    return Answer(type="text", value=longest[0])


def _present(column: str, rows: Sequence[Row]) -> list[Decimal | int]:
    return [value for row in rows if isinstance(value := row[column], int | Decimal)]


def _texts(query: Query, rows: Sequence[Row]) -> list[str]:
    assert query.column is not None
    return [str(row[query.column]) for row in rows]
