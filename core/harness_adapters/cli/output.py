"""How commands speak: people on stderr, one JSON object as the last line of stdout."""

from __future__ import annotations

import sys
from typing import Any

import click
import orjson
from rich.console import Console


def stderr() -> Console:
    return Console(stderr=True, highlight=False)


def print_json(value: Any) -> None:
    sys.stdout.write(orjson.dumps(value, default=str).decode() + "\n")
    sys.stdout.flush()


def printable(text: str) -> str:
    """The text with control characters escaped, so that it cannot act on a terminal."""
    return "".join(
        char if char.isprintable() or char in "\n\t" else char.encode("unicode_escape").decode()
        for char in text
    )


json_option = click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON object as the last line of stdout."
)
