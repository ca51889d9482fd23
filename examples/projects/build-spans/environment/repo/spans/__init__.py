"""Half-open spans of whole numbers, written as pairs ``[start, end]`` with ``start < end``.

Every function takes lists of spans in any order, which may overlap, and gives a list of disjoint
spans in ascending order, with touching ones joined. A span with ``start >= end`` raises
``ValueError``.
"""


def merge(spans):
    """All numbers that are in any of the spans."""
    raise NotImplementedError


def gaps(spans, within):
    """All numbers of the span ``within`` that are in none of the spans."""
    raise NotImplementedError


def overlap(left, right):
    """All numbers that are in a span of ``left`` and in a span of ``right``."""
    raise NotImplementedError


def length(spans):
    """How many numbers are in any of the spans; each counts once."""
    raise NotImplementedError
