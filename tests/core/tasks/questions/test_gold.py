"""Gold answers, found a second way: each query as SQL over the question's own files."""

from __future__ import annotations

import csv
import io
import json
import sqlite3
import statistics
from contextlib import closing
from pathlib import PurePath
from typing import Any

import pytest

from harness_adapters.tasks.questions import Question, generate
from harness_adapters.tasks.questions.query import Condition, Measure, Op

_WHERE = {
    Op.IS: '"{}" = ?',
    Op.ABOVE: '"{}" > ?',
    Op.BELOW: '"{}" < ?',
    Op.FROM_DATE: '"{}" >= ?',
    Op.BEFORE_DATE: '"{}" < ?',
    Op.CONTAINS: 'instr(lower("{}"), ?) > 0',
}
_MEASURE = {
    Measure.SUM: 'SUM("{}")',
    Measure.MEAN: 'AVG("{}")',
    Measure.MIN: 'MIN("{}")',
    Measure.MAX: 'MAX("{}")',
    Measure.COUNT: "COUNT(*)",
    Measure.DISTINCT: 'COUNT(DISTINCT "{}")',
}


def sql_answer(question: Question) -> Any:
    """A number, a text, or a sorted list; asserts that the best group is no tie."""
    query = question.query
    with closing(_database(question)) as database:
        source = f'"{question.table}"'
        if query.joined:
            (other,) = _tables(database) - {question.table}
            key = next(name for name in _columns(database, other) if name.endswith("_id"))
            source += f' JOIN "{other}" USING ("{key}")'
        tests = " AND ".join(_WHERE[item.op].format(item.column) for item in query.where) or "1"
        values = [_bound(item) for item in query.where]
        tail = f"FROM {source} WHERE {tests}"

        def column(sql: str) -> list[Any]:
            return [row[0] for row in database.execute(f"SELECT {sql} {tail}", values)]

        if query.group is not None:
            measure = _MEASURE[query.measure].format(query.column)
            order = "ASC" if query.smallest else "DESC"
            groups = f'SELECT "{query.group}", {measure} AS m {tail} GROUP BY 1 ORDER BY m {order}'
            (best, first), (_, second), *_ = database.execute(groups, values).fetchall()
            assert abs(first - second) > 1e-3
            return best
        if query.measure is Measure.VALUES:
            return sorted(column(f'DISTINCT "{query.column}"'))
        if query.measure is Measure.LONGEST:
            return max(column(f'"{query.column}"'), key=len)
        if query.measure is Measure.MEDIAN:
            return statistics.median(v for v in column(f'"{query.column}"') if v is not None)
        (value,) = column(_MEASURE[query.measure].format(query.column))
        return value


def _bound(condition: Condition) -> str | float:
    number = condition.op in (Op.ABOVE, Op.BELOW)
    return float(condition.value) if number else str(condition.value)


def _database(question: Question) -> sqlite3.Connection:
    database = sqlite3.connect(":memory:")
    for name, data in question.files.items():
        if name.endswith(".sqlite"):
            database.deserialize(data)
            return database
        text = data.decode()
        rows = json.loads(text) if name.endswith(".json") else _read_csv(text)
        marks = ", ".join("?" for _ in rows[0])
        columns = ", ".join(f'"{column}"' for column in rows[0])
        database.execute(f'CREATE TABLE "{PurePath(name).stem}" ({columns})')
        database.executemany(
            f'INSERT INTO "{PurePath(name).stem}" VALUES ({marks})',
            [list(row.values()) for row in rows],
        )
    return database


def _read_csv(text: str) -> list[dict[str, Any]]:
    return [
        {name: _typed(value) for name, value in row.items()}
        for row in csv.DictReader(io.StringIO(text))
    ]


def _typed(value: str) -> Any:
    if value == "":
        return None
    try:
        return float(value)
    except ValueError:
        return value


def _tables(database: sqlite3.Connection) -> set[str]:
    return {row[0] for row in database.execute("SELECT name FROM sqlite_master")}


def _columns(database: sqlite3.Connection, table: str) -> list[str]:
    return [row[1] for row in database.execute(f'PRAGMA table_info("{table}")')]


@pytest.fixture(scope="module")
def questions() -> list[Question]:
    return list(generate(seed=20, count=360))


def test_every_gold_answer_is_what_sql_finds(questions: list[Question]) -> None:
    for question in questions:
        found, gold = sql_answer(question), question.answer
        if gold.type == "number":
            # Rounding moves it by half a cent at most, so an exact answer is within tolerance too.
            assert isinstance(gold.value, int | float)
            assert abs(found - gold.value) <= (0.0051 if gold.abs_tol else 1e-6), question
        else:
            assert found == gold.value, question


def test_no_number_rounds_up_or_down_by_a_hair(questions: list[Question]) -> None:
    for question in questions:
        if question.answer.abs_tol:
            cents = sql_answer(question) * 100
            assert abs(cents % 1 - 0.5) > 0.04, question


def test_missing_values_are_mentioned_exactly_where_they_matter(questions: list[Question]) -> None:
    mentioned = 0
    for question in questions:
        used = {question.query.column, *(item.column for item in question.query.where)} - {None}
        with closing(_database(question)) as database:
            gaps = {
                column
                for column in _columns(database, question.table)
                if database.execute(
                    f'SELECT 1 FROM "{question.table}" WHERE "{column}" IS NULL'
                ).fetchone()
            }
        for column in gaps & used:
            assert f"Some rows have no `{column}`" in question.instruction
            mentioned += 1
        assert not (gaps and not gaps & used and "Some rows have no" in question.instruction)
    assert mentioned > 10
