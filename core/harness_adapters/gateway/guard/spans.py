"""Where things stand in a call's raw text: string values, and positions inside them."""

from __future__ import annotations

import re
import sys
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import accumulate

from harness_adapters.gateway.guard.actions import Span

_TOKEN = re.compile(r'"[^"]*+"|[\[\]{}:,]')
_ESCAPE = re.compile(r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u....|.)")

_LOOK = 2048  # characters that are looked through at a time

Path = tuple[str | int, ...]


def locate(raw: str) -> dict[Path, Span]:
    """Path of keys and indexes -> span of the string value, quotes not included. ``raw`` is strict
    JSON; keys with escapes are left out."""
    found: dict[Path, Span] = {}
    path: list[str | int] = []
    key = ""
    at_key = False
    # Without escapes a string ends at its next quote, and in strict JSON they stand nowhere else.
    bare = raw.replace("\\\\", "__").replace('\\"', "__") if "\\" in raw else raw
    for token in _TOKEN.finditer(bare):
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

    def __init__(self, start: int, shifts: Sequence[tuple[int, int]] = ()) -> None:
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


class _ShortEscapes(Places):
    """Of a JSON string in which each escape is two characters for one, and the second is no
    backslash."""

    def __init__(self, start: int, text: str) -> None:
        self._start = start
        self._text = text
        self._seen = 0  # characters of the text looked through; most are asked of its beginning
        self._known = 0  # and of the string
        self._escaped: list[int] = []  # where escapes stand in the string

    def span(self, start: int, end: int) -> Span:
        if end > self._known:
            self._look(end)
        escaped = self._escaped
        return (
            self._start + start + bisect_left(escaped, start),
            self._start + end + bisect_left(escaped, end),
        )

    def _look(self, position: int) -> None:
        """Look for escapes before a position of the string."""
        while self._known < position and self._seen < len(self._text):
            pieces = self._text[self._seen : self._seen + _LOOK].split("\\")
            self._escaped += [self._known + end for end in accumulate(map(len, pieces[:-1]))]
            self._seen += _LOOK
            self._known = self._seen - len(self._escaped)


def places_in_string(raw: str, span: Span) -> Places:
    """From positions in a decoded JSON string to positions in ``raw``."""
    start, end = span
    text = raw[start:end]
    bare = text.replace("\\\\", "\\_")  # where escapes stand is all that counts
    if "\\u" not in bare:
        return _ShortEscapes(start, bare)
    lost = 0
    shifts: list[tuple[int, int]] = []
    for escape in _ESCAPE.finditer(raw, start, end):
        lost += len(escape.group()) - 1
        shifts.append((escape.end() - start - lost, escape.end()))
    return Places(start, shifts)
