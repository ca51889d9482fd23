"""Text tables with a box around them."""

from itertools import zip_longest

from mdgrid.align import alignments, padded, widths
from mdgrid.cells import texts
from mdgrid.wrap import wrap


def boxed(header, rows, width=30, align=""):
    """A boxed table whose cells wrap at ``width`` characters."""
    letters = alignments(align, len(header))
    wrapped = [[wrap(cell, width) for cell in row] for row in texts(header, rows)]
    columns = widths([[max(cell, key=len) for cell in row] for row in wrapped])
    rule = "+" + "+".join("-" * (column + 2) for column in columns) + "+"
    lines = [rule]
    for number, row in enumerate(wrapped):
        for cells in zip_longest(*row, fillvalue=""):
            parts = (padded(cell, column, a) for cell, column, a in zip(cells, columns, letters))
            lines.append("| " + " | ".join(parts) + " |")
        if number == 0:
            lines.append(rule)
    return "\n".join([*lines, rule] if len(wrapped) > 1 else lines)
