"""Where things stand in a call's raw text: string values, and positions inside them."""

from __future__ import annotations

import re
import sys
from bisect import bisect_right

from harness_adapters.gateway.guard.actions import Span

_TOKEN = re.compile(r'"(?:[^"\\]++|\\.)*+"|[\[\]{}:,]', re.DOTALL)
_ESCAPE = re.compile(r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u....|.)")

Path = tuple[str | int, ...]


def locate(raw: str) -> dict[Path, Span]:
    """Path of keys and indexes -> span of the string value, quotes not included. ``raw`` is strict
    JSON; keys with escapes are left out."""
    found: dict[Path, Span] = {}
    path: list[str | int] = []
    key = ""
    at_key = False
    for token in _TOKEN.finditer(raw):
        start = token.start()
        character = raw[start]
        if character == '"':
            if at_key:
                key = raw[start + 1 : token.end() - 1]
            else:
                if path and isinstance(path[-1], str):
                    path[-1] = key
                found[tuple(path)] = (start + 1, token.end() - 1)
        elif character == "{":
            if path and isinstance(path[-1], str):
                path[-1] = key
            path.append("")
            at_key = True
        elif character == "[":
            if path and isinstance(path[-1], str):
                path[-1] = key
            path.append(0)
        elif character in "]}":
            if path:
                path.pop()
            at_key = False
        elif character == ":":
            at_key = False
        elif path:
            last = path[-1]
            if isinstance(last, int):
                path[-1] = last + 1
            else:
                at_key = True
    return found


class Places:
    """Maps positions in a text to positions in the text that it was made from."""

    def __init__(self, start: int, shifts: list[tuple[int, int]]) -> None:
        """:param shifts: sorted ``(position here, position there)``; between them both advance
        alike."""
        self._here = [0, *(here for here, _ in shifts)]
        self._there = [start, *(there for _, there in shifts), sys.maxsize]

    def span(self, start: int, end: int) -> Span:
        """Where what stands from ``start`` to ``end`` came from."""
        here, there = self._here, self._there
        i, j = bisect_right(here, start), bisect_right(here, end)
        first, last = there[i - 1] + start - here[i - 1], there[j - 1] + end - here[j - 1]
        # What was put in place of something shorter ends where that ended.
        return min(first, there[i]), min(last, there[j])

    def __call__(self, position: int) -> int:
        return self.span(position, position)[0]


def places_in_string(raw: str, span: Span) -> Places:
    """From positions in a decoded JSON string to positions in ``raw``."""
    start, end = span
    if raw.find("\\", start, end) < 0:
        return Places(start, [])
    escapes = _ESCAPE.finditer(raw, start, end)
    if raw.find("\\u", start, end) < 0:  # each is two characters for one
        ends = (escape.end() for escape in escapes)
        return Places(start, [(at - start - lost, at) for lost, at in enumerate(ends, 1)])
    lost = 0
    shifts: list[tuple[int, int]] = []
    for escape in escapes:
        lost += len(escape.group()) - 1
        shifts.append((escape.end() - start - lost, escape.end()))
    return Places(start, shifts)
