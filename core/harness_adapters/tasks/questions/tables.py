"""Tables: which columns each has, which split it belongs to, and how its rows are drawn."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from itertools import count

from harness_adapters.tasks.questions.dice import Dice
from harness_adapters.tasks.questions.vocabulary import (
    CATEGORIES,
    FIRST_WORDS,
    NUMBERS,
    PEOPLE,
    PERSON_COLUMNS,
    SECOND_WORDS,
    SUBJECTS,
    SURNAMES,
    VARIANTS,
)

Value = int | Decimal | str | None
Row = dict[str, Value]

SPLIT_PATTERN = ("train", "train", "test", "train", "dev", "test")
"""The split of table 0, 1, 2 ...; moved on by one in each round of subjects, so that a subject is
in several splits, with different tables. Nothing else matters: training and held-out tables never
mix, whatever the seed or the number of tables asked for."""

COMPANIONS = ("agency", "depot", "office", "partner", "sponsor", "supplier", "trust", "zone")
MAX_TABLES = len(SUBJECTS) * (len(VARIANTS) + 1)
_MISSING = 0.08
_FIRST_DAY = datetime.date(2021, 1, 1).toordinal()


@dataclass(frozen=True, slots=True, kw_only=True)
class Companion:
    """A second, small table: rows of the first refer to it by ``key``.

    :param noun: the column with the unique name of each of its rows; ``plural`` is its own name.
    """

    noun: str
    category: str
    number: str

    @property
    def plural(self) -> str:
        return f"{self.noun[:-1]}ies" if self.noun.endswith("y") else f"{self.noun}s"

    @property
    def key(self) -> str:
        return f"{self.noun}_id"

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.key, self.noun, self.category, self.number)


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """One cluster of questions.

    :param label: the column that names a row; ``id`` identifies it.
    :param date: a column of ISO dates.
    :param sparse: the one numeric column in which values may be missing, if any.
    """

    name: str
    split: str
    label: str
    date: str
    numbers: tuple[str, ...]
    categories: tuple[str, ...]
    sparse: str | None
    companion: Companion

    @property
    def columns(self) -> tuple[str, ...]:
        return ("id", self.label, *self.categories, self.date, *self.numbers)


@cache
def table(index: int) -> Table:
    """Table number ``index``; the same for every seed. Past the last subject, names get a variant
    (``orders_north``) and the columns are drawn anew from the subject's pool: no two tables of a
    subject have the same ones.

    :raises IndexError: there is no such table.
    """
    if not 0 <= index < MAX_TABLES:
        raise IndexError(index)
    variant, position = divmod(index, len(SUBJECTS))
    earlier = {table(position + len(SUBJECTS) * number).columns for number in range(variant)}
    draws = (_draw_table(position, variant, attempt) for attempt in count())
    return next(drawn for drawn in draws if drawn.columns not in earlier)


def _draw_table(position: int, variant: int, attempt: int) -> Table:
    subject = SUBJECTS[position]
    dice = Dice("table", subject.name, variant, attempt)
    numbers = tuple(dice.some(subject.numbers, dice.between(3, 4)))
    categories = tuple(dice.some(subject.categories, dice.between(2, 3)))
    companion = Companion(
        noun=dice.pick(COMPANIONS),
        category=dice.pick([name for name in CATEGORIES if name not in subject.categories]),
        number=dice.pick([name for name in NUMBERS if name not in subject.numbers]),
    )
    return Table(
        name=subject.name if variant == 0 else f"{subject.name}_{VARIANTS[variant - 1]}",
        split=SPLIT_PATTERN[(position + variant) % len(SPLIT_PATTERN)],
        label=subject.label,
        date=subject.date,
        numbers=numbers,
        categories=categories,
        sparse=dice.pick(numbers) if dice.chance(0.4) else None,
        companion=companion,
    )


def tables(number: int) -> list[Table]:
    """The first ``number`` tables, at most ``MAX_TABLES``."""
    return [table(index) for index in range(number)]


def draw_rows(table: Table, dice: Dice) -> list[Row]:
    """The rows of ``table``, in the order of their ids; the key of its companion is not among the
    columns."""
    number = dice.between(32, 80)
    ids = dice.some(range(100, 1000), number)
    labels = list(_labels(table.label, number, dice))
    categories = {name: _some_values(name, dice) for name in table.categories}
    rows: list[Row] = []
    for row_id, label in zip(ids, labels, strict=True):
        row: Row = {"id": row_id, table.label: label}
        row |= {name: dice.pick(values) for name, values in categories.items()}
        row[table.date] = datetime.date.fromordinal(_FIRST_DAY + dice.between(0, 1400)).isoformat()
        row |= {name: _number(name, dice) for name in table.numbers}
        if table.sparse is not None and dice.chance(_MISSING):
            row[table.sparse] = None
        rows.append(row)
    return rows


def draw_companion(companion: Companion, dice: Dice) -> list[Row]:
    number = dice.between(5, 8)
    names = _pairs(FIRST_WORDS, SECOND_WORDS, number, dice)
    values = _some_values(companion.category, dice, 2, 3)
    # Every value is used at least once, so that none asked about is absent by chance.
    categories = dice.shuffled([*values, *(dice.pick(values) for _ in range(number - len(values)))])
    return [
        {
            companion.key: key,
            companion.noun: name,
            companion.category: category,
            companion.number: _number(companion.number, dice),
        }
        for key, name, category in zip(
            dice.some(range(11, 99), number), names, categories, strict=True
        )
    ]


def _some_values(category: str, dice: Dice, low: int = 3, high: int = 6) -> list[str]:
    values = CATEGORIES[category]
    return dice.some(values, min(dice.between(low, high), len(values)))


def _number(column: str, dice: Dice) -> int | Decimal:
    spec = NUMBERS[column]
    units = dice.between(spec.low, spec.high)
    return Decimal(units).scaleb(-spec.decimals) if spec.decimals else units


def _labels(column: str, number: int, dice: Dice) -> Iterator[str]:
    if column == "code":
        for digits in dice.shuffled(dice.some(range(1000, 10000), number)):
            yield f"{dice.pick('BDFKMPRT')}{dice.pick('AEOU')}-{digits}"
    elif column in PERSON_COLUMNS:
        people = list(_pairs(PEOPLE, SURNAMES, number * 2 // 3, dice))
        yield from (dice.pick(people) for _ in range(number))
    else:
        yield from _pairs(FIRST_WORDS, SECOND_WORDS, number, dice)


def _pairs(
    first: tuple[str, ...], second: tuple[str, ...], number: int, dice: Dice
) -> Iterator[str]:
    """Different names of two words each."""
    for position in dice.shuffled(dice.some(range(len(first) * len(second)), number)):
        yield f"{first[position // len(second)]} {second[position % len(second)]}"
