"""Putting texts into columns."""

ALIGNMENTS = "lcr"


def padded(text, width, alignment):
    """``text`` with spaces up to ``width``; ``alignment`` is l, c or r."""
    if alignment == "r":
        return text.rjust(width)
    if alignment == "c":
        left = (width - len(text)) // 2
        return (" " * left + text).ljust(width)
    return text.ljust(width)


def alignments(text, columns):
    """One letter per column; what is not given is l.

    :raises ValueError: another letter, or too many.
    """
    if len(text) > columns:
        raise ValueError(f"{len(text)} alignments for {columns} columns")
    for letter in text:
        if letter not in ALIGNMENTS:
            raise ValueError(f"no alignment {letter!r}")
    return text.ljust(columns, "l")


def widths(rows):
    """The width of the longest text of each column."""
    return [max(map(len, column)) for column in zip(*rows)]
