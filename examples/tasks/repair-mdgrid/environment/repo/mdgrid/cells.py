"""Rows of texts."""

import re

_ESCAPE = {"|": r"\|", "\n": "<br>"}
_SEPARATOR = re.compile(r"(?<!\\)\|")


def texts(header, rows):
    """Header and rows as texts, every row as long as the header; None is an empty cell.

    :raises ValueError: a row is longer than the header.
    """
    result = [[_text(cell) for cell in header]]
    for number, row in enumerate(rows, 1):
        cells = [_text(cell) for cell in row]
        if len(cells) > len(header):
            raise ValueError(f"row {number} has {len(cells)} cells, the header {len(header)}")
        result.append(cells + [""] * (len(header) - len(cells)))
    return result


def escaped(text):
    """A cell as it stands in Markdown."""
    for character, written in _ESCAPE.items():
        text = text.replace(character, written)
    return text


def unescaped(text):
    for character, written in _ESCAPE.items():
        text = text.replace(written, character)
    return text


def split_row(line):
    """The cells of one line of a Markdown table."""
    line = line.strip().removeprefix("|")
    if line.endswith("|") and not line.endswith(r"\|"):
        line = line[:-1]
    return [unescaped(cell.strip()) for cell in _SEPARATOR.split(line)]


def _text(cell):
    return "" if cell is None else str(cell)
