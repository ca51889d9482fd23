"""Adding up what stands in tables of comma-separated text."""

from decimal import Decimal, InvalidOperation


class TallyError(ValueError):
    """The text is no table, or a field is no number."""


def read(text):
    """The rows as dictionaries. The first line names the columns; blank lines are skipped."""
    lines = [line for line in text.splitlines() if line.strip()]
    if not lines:
        raise TallyError("there is no line that names the columns")
    names = [name.strip() for name in lines[0].split(",")]
    rows = []
    for number, line in enumerate(lines[1:], 2):
        fields = [field.strip() for field in line.split(",")]
        if len(fields) != len(names):
            raise TallyError(f"row {number} has {len(fields)} fields, not {len(names)}")
        rows.append(dict(zip(names, fields)))
    return rows


def total(rows, column, where=None):
    """The sum of a column as text, over the rows that ``where`` names; empty fields count as
    nothing."""
    fields = [_field(row, column) for row in _chosen(rows, where)]
    return str(sum((_number(field) for field in fields if field), Decimal(0)))


def by(rows, key, column, where=None):
    """The total of a column for each value of another one."""
    groups = {}
    for row in _chosen(rows, where):
        groups.setdefault(_field(row, key), []).append(row)
    return {value: total(group, column) for value, group in groups.items()}


def _chosen(rows, where):
    wanted = where or {}
    return [
        row
        for row in rows
        if all([_field(row, name) == value for name, value in wanted.items()])
    ]


def _field(row, column):
    if column not in row:
        raise TallyError(f"there is no column {column!r}")
    return row[column]


def _number(text):
    try:
        return Decimal(text)
    except InvalidOperation:
        raise TallyError(f"{text!r} is no number") from None
