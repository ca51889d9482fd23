"""Rows as the bytes of CSV, JSON and SQLite files, the same on every machine."""

from __future__ import annotations

import csv
import io
import json
import sqlite3
from collections.abc import Mapping, Sequence
from decimal import Decimal

from harness_adapters.tasks.questions.tables import Row, Value

FORMATS = ("csv", "json", "sqlite")
_SQLITE_WRITER = 3034000  # recorded in the header in place of the version that wrote the file


def encode(format: str, name: str, contents: Mapping[str, Sequence[Row]]) -> dict[str, bytes]:
    """File name -> bytes. CSV and JSON have one file per table, SQLite one for all.

    :param name: of the SQLite file, without its ending.
    :param contents: table name -> rows; every row has the same columns.
    """
    match format:
        case "csv":
            return {f"{table}.csv": _csv(rows) for table, rows in contents.items()}
        case "json":
            return {f"{table}.json": _json(rows) for table, rows in contents.items()}
        case "sqlite":
            return {f"{name}.sqlite": _sqlite(contents)}
        case _:
            raise ValueError(f"unknown format {format!r}")


def _csv(rows: Sequence[Row]) -> bytes:
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, fieldnames=list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()


def _json(rows: Sequence[Row]) -> bytes:
    lines = ",\n".join(
        json.dumps({name: _plain(value) for name, value in row.items()}) for row in rows
    )
    return f"[\n{lines}\n]\n".encode()


def _sqlite(contents: Mapping[str, Sequence[Row]]) -> bytes:
    connection = sqlite3.connect(":memory:")
    try:
        connection.execute("PRAGMA page_size = 4096")
        for table, rows in contents.items():
            columns = ", ".join(f'"{name}" {_sql_type(name, rows)}' for name in rows[0])
            connection.execute(f'CREATE TABLE "{table}" ({columns})')
            marks = ", ".join("?" for _ in rows[0])
            connection.executemany(
                f'INSERT INTO "{table}" VALUES ({marks})',
                [[_plain(value) for value in row.values()] for row in rows],
            )
        connection.commit()
        image = bytearray(connection.serialize())
    finally:
        connection.close()
    # The one part of the file that depends on the library's version; nothing reads it.
    image[96:100] = _SQLITE_WRITER.to_bytes(4, "big")
    return bytes(image)


def _plain(value: Value) -> int | float | str | None:
    return float(value) if isinstance(value, Decimal) else value


def _sql_type(column: str, rows: Sequence[Row]) -> str:
    kinds = {type(row[column]) for row in rows} - {type(None)}
    if kinds <= {int}:
        return "INTEGER"
    return "REAL" if kinds <= {int, Decimal} else "TEXT"
