"""The path patterns of a task's ``editable`` and ``protected`` lists."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from functools import lru_cache


def matches(path: str, patterns: Iterable[str]) -> bool:
    """Whether a path relative to the working folder matches any pattern.

    ``*`` and ``?`` stay inside one folder, ``**`` crosses folders: ``**/conftest.py`` also matches
    ``conftest.py``, and ``tests/**`` everything below ``tests`` and ``tests`` itself.
    """
    return any(_compiled(pattern).fullmatch(path) for pattern in patterns)


def may_edit(path: str, *, editable: Iterable[str], protected: Iterable[str]) -> bool:
    """Whether a path may be edited. An editable pattern takes files out of a protected one only
    where it is the narrower of the two: ``tests/new/**`` out of ``tests/**``, but ``**`` nothing
    out of ``tests/test_a.py``.
    """
    free = [_pieces(one) for one in editable if matches(path, (one,))]
    kept = [_pieces(one) for one in protected if matches(path, (one,))]
    return all(any(narrower(one, glob) for one in free) for glob in kept)


def narrower(one: Sequence[str], other: Sequence[str]) -> bool:
    """Whether all that fits a pattern fits another one too; both by their components. Of patterns
    in one component it may say no too often, never yes."""
    row = [True] + [False] * len(other)  # row[j]: one[:i] lies within other[:j]
    for j, piece in enumerate(other):
        row[j + 1] = row[j] and piece == "**"
    for part in one:
        new = [False] * (len(other) + 1)
        for j, piece in enumerate(other):
            if piece == "**":
                new[j + 1] = row[j + 1] or new[j]
            else:
                new[j + 1] = row[j] and _within(part, piece)
        row = new
    return row[-1]


def _within(part: str, piece: str) -> bool:
    """Whether one component's pattern lies within another's."""
    if part == piece:
        return True
    if part == "**" or ("?" in piece or ("[" in piece and _WILD.search(part))):
        return False
    return fnmatchcase(part, piece)


def _pieces(pattern: str) -> list[str]:
    return [piece for piece in pattern.removeprefix("./").split("/") if piece]


@lru_cache(maxsize=1024)
def _compiled(pattern: str) -> re.Pattern[str]:
    text = pattern.removeprefix("./")
    below = text.endswith("/**")
    if below:
        text = text.removesuffix("/**")
    parts: list[str] = []
    at = 0
    while at < len(text):
        if text.startswith("**/", at):
            parts.append("(?:.*/)?")
            at += 3
        elif text.startswith("**", at):
            parts.append(".*")
            at += 2
        elif text[at] == "*":
            parts.append("[^/]*")
            at += 1
        elif text[at] == "?":
            parts.append("[^/]")
            at += 1
        elif (found := _CLASS.match(text, at)) is not None:
            members = re.escape(found[2]).replace("\\-", "-")
            parts.append(f"[{'^/' if found[1] else ''}{members}]")
            at = found.end()
        else:
            parts.append(re.escape(text[at]))
            at += 1
    if below:
        parts.append("(?:/.*)?")
    return re.compile("".join(parts), re.DOTALL)


_WILD = re.compile(r"[*?\[]")
_CLASS = re.compile(r"\[(!?)([^\]]+)\]")
