"""The path patterns of a task's ``editable`` and ``protected`` lists."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from harness_adapters.gateway.guard.paths import narrower, parts


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
    free = [parts(one.removeprefix("./")) for one in editable if matches(path, (one,))]
    kept = [parts(one.removeprefix("./")) for one in protected if matches(path, (one,))]
    return all(any(narrower(one, glob) for one in free) for glob in kept)


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


_CLASS = re.compile(r"\[(!?)([^\]]+)\]")
