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


def total(rows, column):
    """The sum of a column as text; empty fields count as nothing."""
    return str(sum((_number(row[column]) for row in rows if row[column]), Decimal(0)))


def _number(text):
    try:
        return Decimal(text)
    except InvalidOperation:
        raise TallyError(f"{text!r} is no number") from None
