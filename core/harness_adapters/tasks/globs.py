"""The path patterns of a task's ``editable`` and ``protected`` lists."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache


def matches(path: str, patterns: Iterable[str]) -> bool:
    """Whether a path relative to the working folder matches any pattern.

    ``*`` and ``?`` stay inside one folder, ``**`` crosses folders: ``**/conftest.py`` also matches
    ``conftest.py``, and ``tests/**`` everything below ``tests`` and ``tests`` itself.
    """
    return any(_compiled(pattern).fullmatch(path) for pattern in patterns)


def may_edit(path: str, *, editable: Iterable[str], protected: Iterable[str]) -> bool:
    """Whether a path may be edited. Of an editable and a protected pattern that both match, the
    more specific one counts, and of equally specific ones the editable one."""
    kept = max((specificity(one) for one in protected if matches(path, (one,))), default=None)
    if kept is None:
        return True
    return any(specificity(one) >= kept for one in editable if matches(path, (one,)))


def specificity(pattern: str) -> tuple[int, int]:
    """How much a pattern says: its components without wildcards, then those that have some of
    their own: ``**`` < ``**/test_*`` < ``tests/**`` = ``**/conftest.py`` < ``tests/test_a.py``."""
    pieces = [piece for piece in pattern.removeprefix("./").split("/") if piece]
    plain = sum(_WILD.search(piece) is None for piece in pieces)
    partly = sum(_WILD.search(piece) is not None and piece.strip("*") != "" for piece in pieces)
    return plain, partly


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
