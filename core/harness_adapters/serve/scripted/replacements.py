"""The smallest exact-text replacements that turn one text into another."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence


def replacements(before: str, after: str) -> tuple[tuple[str, str], ...] | None:
    """Pairs of old and new text, each old one found exactly once in ``before``.

    They stay unique and find their place whether applied all at once or one after another.
    ``None`` when there are none of that sort (the text is empty, or repeats itself throughout).
    """
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    for context in range(len(old) + 1):
        pairs = tuple(_pairs(matcher, old, new, context))
        if _applies(before, after, pairs):
            return pairs
    return None


def _pairs(
    matcher: difflib.SequenceMatcher[str], old: Sequence[str], new: Sequence[str], context: int
) -> Iterator[tuple[str, str]]:
    """One pair per hunk with this many lines around it; hunks that then touch are one."""
    hunks: list[list[int]] = []
    for tag, start, end, new_start, new_end in matcher.get_opcodes():
        if tag == "equal":
            continue
        before, after = min(context, start), min(context, len(old) - end)
        hunk = [start - before, end + after, new_start - before, new_end + after]
        if hunks and hunk[0] <= hunks[-1][1]:
            hunks[-1][1], hunks[-1][3] = hunk[1], hunk[3]
        else:
            hunks.append(hunk)
    for start, end, new_start, new_end in hunks:
        yield "".join(old[start:end]), "".join(new[new_start:new_end])


def _applies(before: str, after: str, pairs: Sequence[tuple[str, str]]) -> bool:
    text, end = before, 0
    for old, new in pairs:
        if not old or before.count(old) != 1 or text.count(old) != 1:
            return False
        if (start := before.index(old)) < end:
            return False  # it stands once, but across the end of the one before
        text, end = text.replace(old, new), start + len(old)
    return text == after
