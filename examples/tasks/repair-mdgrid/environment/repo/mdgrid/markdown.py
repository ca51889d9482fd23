"""Markdown tables, written and read."""

import re

from mdgrid.align import alignments, padded, widths
from mdgrid.cells import escaped, split_row, texts

_RULE = {"l": ":{}-", "c": ":{}:", "r": "-{}:"}
_RULE_CELL = re.compile(r"(:?)-+(:?)")


def markdown(header, rows, align=""):
    """A Markdown table. ``align`` has a letter (l, c, r) per column."""
    letters = alignments(align, len(header))
    cells = [[escaped(cell) for cell in row] for row in texts(header, rows)]
    columns = [max(width, 3) for width in widths(cells)]
    lines = [_line(row, columns, letters) for row in cells]
    rule = [_RULE[a].format("-" * (width - 2)) for a, width in zip(letters, columns)]
    lines.insert(1, "| " + " | ".join(rule) + " |")
    return "\n".join(lines)


def read_markdown(text):
    """(header, rows, align) of the first Markdown table in a text.

    :raises ValueError: there is none.
    """
    lines = text.splitlines()
    for number in range(1, len(lines)):
        rule = split_row(lines[number]) if "|" in lines[number] else []
        header = split_row(lines[number - 1])
        if rule and len(rule) == len(header) and all(map(_RULE_CELL.fullmatch, rule)):
            rows = []
            for line in lines[number + 1 :]:
                if "|" not in line:
                    break
                rows.append(split_row(line))
            return header, rows, "".join(map(_letter, rule))
    raise ValueError("no table in the text")


def _line(row, columns, letters):
    cells = (padded(cell, width, a) for cell, width, a in zip(row, columns, letters))
    return "| " + " | ".join(cells) + " |"


def _letter(rule):
    left, right = _RULE_CELL.fullmatch(rule).groups()
    if left and right:
        return "c"
    return "r" if right else "l"
