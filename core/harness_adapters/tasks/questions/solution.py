"""The oracle: a readable program that answers a query from the data files."""

from __future__ import annotations

from harness_adapters.tasks.questions.query import Condition, Measure, Op, Query
from harness_adapters.tasks.questions.tables import Table

_LOAD = {
    "csv": '''\
import csv


def load(name):
    """The rows of a table; numbers as numbers, an empty field as None."""
    with open(name + ".csv", newline="", encoding="utf-8") as file:
        return [
            {{key: parse(key, text) for key, text in row.items()}} for row in csv.DictReader(file)
        ]


def parse(key, text):
    if key not in {numbers}:
        return text
    return float(text) if text else None
''',
    "json": '''\
import json


def load(name):
    """The rows of a table."""
    with open(name + ".json", encoding="utf-8") as file:
        return json.load(file)
''',
    "sqlite": '''\
import sqlite3


def load(name):
    """The rows of a table."""
    connection = sqlite3.connect("{database}.sqlite")
    connection.row_factory = sqlite3.Row
    rows = [dict(row) for row in connection.execute("SELECT * FROM " + name)]
    connection.close()
    return rows
''',
}
_VALUES = {
    Measure.SUM: "sum({})",
    Measure.MEAN: "sum({0}) / len({0})",
    Measure.MEDIAN: "median({})",
    Measure.MIN: "min({})",
    Measure.MAX: "max({})",
    Measure.DISTINCT: "len(set({}))",
    Measure.COUNT: "len({})",
}


def program(query: Query, table: Table, format: str) -> str:
    """Source of the program: standard library only, to be run in the folder of the data files."""
    parts = ['"""Answers the question from the data files and writes answer.txt."""\n']
    if query.measure is Measure.MEDIAN:
        parts.append("from statistics import median")
    parts += [_load(query, table, format), "", *_body(query, table), ""]
    parts += [
        'with open("answer.txt", "w", encoding="utf-8") as file:',
        '    file.write(f"{answer}\\n")',
    ]
    return "\n".join(parts) + "\n"


def _load(query: Query, table: Table, format: str) -> str:
    numbers: tuple[str, ...] = table.numbers
    if query.joined:
        numbers = (*numbers, table.companion.number)
    quoted = ", ".join(f'"{name}"' for name in numbers)
    return _LOAD[format].format(numbers=f"{{{quoted}}}", database=table.name)


def _body(query: Query, table: Table) -> list[str]:
    lines = [f'rows = load("{table.name}")']
    if query.joined:
        key = table.companion.key
        lines += [
            f'by_key = {{row["{key}"]: row for row in load("{table.companion.plural}")}}',
            f'rows = [row | by_key[row["{key}"]] for row in rows]',
        ]
    tests = [_test(condition, table) for condition in query.where]
    if query.column is not None and query.column == table.sparse:
        tests.append(f'row["{query.column}"] is not None')
    if tests:
        lines.append("rows = [row for row in rows if " + " and ".join(dict.fromkeys(tests)) + "]")
    if query.group is not None:
        return [*lines, *_grouped(query, query.group)]
    if query.measure is Measure.LONGEST:
        return [*lines, f'answer = max((row["{query.column}"] for row in rows), key=len)']
    if query.measure is Measure.VALUES:
        return [*lines, f'answer = "\\n".join(sorted({{row["{query.column}"] for row in rows}}))']
    if query.measure is Measure.COUNT:
        return [*lines, "answer = len(rows)"]
    lines.append(f'values = [row["{query.column}"] for row in rows]')
    value = _VALUES[query.measure].format("values")
    if query.measure is Measure.DISTINCT:
        return [*lines, f"answer = {value}"]
    return [*lines, f"answer = round({value})" if query.whole else f"answer = round({value}, 2)"]


def _grouped(query: Query, group: str) -> list[str]:
    value = "1" if query.column is None else f'row["{query.column}"]'
    return [
        "groups = {}",
        "for row in rows:",
        f'    groups.setdefault(row["{group}"], []).append({value})',
        f"measured = {{name: {_VALUES[query.measure].format('values')} "
        "for name, values in groups.items()}",
        f"answer = {'min' if query.smallest else 'max'}(measured, key=measured.get)",
    ]


def _test(condition: Condition, table: Table) -> str:
    cell = f'row["{condition.column}"]'
    match condition.op:
        case Op.IS:
            return f'{cell} == "{condition.value}"'
        case Op.CONTAINS:
            return f'"{condition.value}" in {cell}.lower()'
        case Op.FROM_DATE:
            return f'{cell} >= "{condition.value}"'
        case Op.BEFORE_DATE:
            return f'{cell} < "{condition.value}"'
    sign = ">" if condition.op is Op.ABOVE else "<"
    present = f"{cell} is not None and " if condition.column == table.sparse else ""
    return f"{present}{cell} {sign} {condition.value}"
