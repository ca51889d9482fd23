"""The journal: entries, read from and written to CSV."""

import csv
import io
from dataclasses import dataclass
from datetime import date

from ledger.money import format_amount, parse_amount

COLUMNS = ("date", "payer", "payee", "amount", "note")


class LedgerError(Exception):
    """A line of the journal cannot be used; the message names it."""


@dataclass(frozen=True)
class Entry:
    """Money that flows from ``payer`` to ``payee``; a negative amount flows back."""

    date: str
    payer: str
    payee: str
    cents: int
    note: str = ""


def read_csv(text):
    """The entries of a CSV text with a header line, in the order of their dates.

    Blank lines and lines that start with ``#`` are skipped.

    :raises LedgerError: a column is missing, or a line cannot be used.
    """
    lines = [
        (number, line)
        for number, line in enumerate(text.splitlines(), 1)
        if line.strip() and not line.startswith("#")
    ]
    if not lines:
        return []
    header = next(csv.reader([lines[0][1]]))
    missing = [column for column in COLUMNS if column not in header]
    if missing:
        raise LedgerError(f"line {lines[0][0]}: no column {missing[0]!r}")
    entries = []
    for number, line in lines[1:]:
        fields = dict(zip(header, next(csv.reader([line]))))
        try:
            entries.append(_entry(fields))
        except (KeyError, ValueError) as error:
            raise LedgerError(f"line {number}: {error}") from None
    return sorted(entries, key=lambda entry: entry.date)


def write_csv(entries):
    """The CSV text of entries; ``read_csv`` gives them back."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for entry in entries:
        amount = format_amount(entry.cents)
        writer.writerow([entry.date, entry.payer, entry.payee, amount, entry.note])
    return out.getvalue()


def _entry(fields):
    payer, payee = fields["payer"].strip(), fields["payee"].strip()
    if not payer or not payee or payer == payee:
        raise ValueError("payer and payee must be two accounts")
    day = date.fromisoformat(fields["date"].strip()).isoformat()
    note = (fields.get("note") or "").strip()
    return Entry(day, payer, payee, parse_amount(fields["amount"]), note)
