"""Half-open spans of whole numbers, written as pairs ``[start, end]`` with ``start < end``.

Every function takes lists of spans in any order, which may overlap, and gives a list of disjoint
spans in ascending order, with touching ones joined. A span with ``start >= end`` raises
``ValueError``.
"""


def merge(spans):
    """All numbers that are in any of the spans."""
    merged = []
    for start, end in sorted(map(_checked, spans)):
        if merged and start <= merged[-1][1]:
            merged[-1][1] = max(merged[-1][1], end)
        else:
            merged.append([start, end])
    return merged


def gaps(spans, within):
    """All numbers of the span ``within`` that are in none of the spans."""
    at, last = _checked(within)
    found = []
    for start, end in merge(spans):
        if start > at:
            found.append([at, min(start, last)])
        at = max(at, end)
        if at >= last:
            break
    if at < last:
        found.append([at, last])
    return [span for span in found if span[0] < span[1]]


def overlap(left, right):
    """All numbers that are in a span of ``left`` and in a span of ``right``."""
    return merge(
        [max(a, c), min(b, d)]
        for a, b in merge(left)
        for c, d in merge(right)
        if max(a, c) < min(b, d)
    )


def length(spans):
    """How many numbers are in any of the spans; each counts once."""
    return sum(end - start for start, end in merge(spans))


def _checked(span):
    start, end = span
    if start >= end:
        raise ValueError(f"an empty span: {span}")
    return [start, end]
