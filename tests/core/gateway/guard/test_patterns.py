"""No pattern of the gateway or of a guard can read a text in two ways at every step, which is what
makes some texts take 2**n: told from the patterns themselves, all that there are."""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from re import _constants as codes  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[4]
SOURCES = (
    *(ROOT / "core/harness_adapters/gateway").rglob("*.py"),
    *(ROOT / "plugins/guards").rglob("*.py"),
)
CHARACTERS = frozenset(map(chr, range(9, 127)))
MANY = 30  # repeats, from which on it matters
_CATEGORIES: dict[Any, Callable[[str], bool]] = {
    codes.CATEGORY_DIGIT: str.isdigit,
    codes.CATEGORY_SPACE: str.isspace,
    codes.CATEGORY_WORD: lambda c: c.isalnum() or c == "_",
}
_NO_CATEGORIES = {
    codes.CATEGORY_NOT_DIGIT: codes.CATEGORY_DIGIT,
    codes.CATEGORY_NOT_SPACE: codes.CATEGORY_SPACE,
    codes.CATEGORY_NOT_WORD: codes.CATEGORY_WORD,
}
_GREEDY = (codes.MAX_REPEAT, codes.MIN_REPEAT)  # which may be taken back
_REPEATS = (*_GREEDY, codes.POSSESSIVE_REPEAT)
Item = tuple[Any, Any]


def module_of(source: Path) -> str:
    top = ROOT / ("core" if ROOT / "core" in source.parents else "plugins/guards")
    return ".".join(source.relative_to(top).with_suffix("").parts).removesuffix(".__init__")


def patterns_of(source: Path) -> Iterator[re.Pattern[str]]:
    """The compiled ones that a module holds, and the literals that it gives to ``re``."""
    stack: list[Any] = list(vars(importlib.import_module(module_of(source))).values())
    for _ in range(5):
        inner: list[Any] = []
        for one in stack:
            if isinstance(one, re.Pattern) and isinstance(one.pattern, str):
                yield one
            elif isinstance(one, (tuple, list, frozenset)):
                inner += one
            elif isinstance(one, dict):
                inner += one.values()
        stack = inner
    for node in ast.walk(ast.parse(source.read_text("utf-8"))):
        if isinstance(node, ast.Call) and ast.unparse(node.func).startswith("re."):
            first = node.args[0] if node.args else None
            if isinstance(first, ast.Constant) and isinstance(first.value, str):
                yield re.compile(first.value)


def members(items: list[Item]) -> frozenset[str]:
    found: set[str] = set()
    for code, value in items:
        if code is codes.LITERAL:
            found.add(chr(value))
        elif code is codes.RANGE:
            found |= {c for c in CHARACTERS if value[0] <= ord(c) <= value[1]}
        elif code is codes.CATEGORY and value in _CATEGORIES:
            found |= {c for c in CHARACTERS if _CATEGORIES[value](c)}
        elif code is codes.CATEGORY:
            found |= {c for c in CHARACTERS if not _CATEGORIES[_NO_CATEGORIES[value]](c)}
    return CHARACTERS - found if items[0][0] is codes.NEGATE else frozenset(found)


def begins(items: Any) -> tuple[frozenset[str], bool]:
    """The characters that it may begin with, and whether it may be empty."""
    found: frozenset[str] = frozenset()
    for item in items:
        some, empty = begins_one(*item)
        found |= some
        if not empty:
            return found, False
    return found, True


def begins_one(code: Any, value: Any) -> tuple[frozenset[str], bool]:
    if code is codes.LITERAL:
        return frozenset(chr(value)), False
    if code is codes.NOT_LITERAL:
        return CHARACTERS - {chr(value)}, False
    if code is codes.ANY:
        return CHARACTERS - {"\n"}, False
    if code is codes.IN:
        return members(value), False
    if code is codes.BRANCH:
        several = [begins(one) for one in value[1]]
        return frozenset().union(*(some for some, _ in several)), any(e for _, e in several)
    if code is codes.SUBPATTERN:
        return begins(value[3])
    if code is codes.ATOMIC_GROUP:
        return begins(value)
    if code in _REPEATS:
        some, empty = begins(value[2])
        return some, empty or value[0] == 0
    return frozenset(), True  # a place, or what a group held


def inside(code: Any, value: Any) -> list[Any]:
    if code is codes.BRANCH:
        return list(value[1])
    if code is codes.SUBPATTERN:
        return [value[3]]
    if code is codes.ATOMIC_GROUP:
        return [value]
    if code in _REPEATS:
        return [value[2]]
    return [value[1]] if code in (codes.ASSERT, codes.ASSERT_NOT) else []


def varies(code: Any, value: Any) -> bool:
    return code in _GREEDY and value[1] > MANY


def ambiguous(items: Any) -> str | None:
    """How a repeated group may be read in two ways, if it may."""
    for code, value in items:
        if varies(code, value) and (how := _twofold(list(value[2]))):
            return how
        for inner in inside(code, value):
            if how := ambiguous(inner):
                return how
    return None


def _twofold(group: list[Item]) -> str | None:
    while len(group) == 1 and group[0][0] is codes.SUBPATTERN:
        group = list(group[0][1][3])
    alternatives = [group]
    if len(group) == 1 and group[0][0] is codes.BRANCH:
        alternatives = [list(one) for one in group[0][1][1]]
        some = [begins(one)[0] for one in alternatives]
        for i, one in enumerate(some):
            if any(one & other for other in some[:i]):
                return "two alternatives of a repeated group begin alike"
    first, _ = begins(group)
    if any(_last(one) & first for one in alternatives):
        return "a repeat of repeats"
    return None


def _last(items: list[Item]) -> frozenset[str]:
    """What the repeat begins with that it may end in, if it does."""
    for item in reversed(items):
        if varies(*item):
            return begins(item[1][2])[0]
        if not begins_one(*item)[1]:
            break
    return frozenset()


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: module_of(path))
def test_patterns_are_read_in_one_way(source: Path) -> None:
    wrong = {one.pattern: ambiguous(parser.parse(one.pattern)) for one in patterns_of(source)}
    assert {pattern: how for pattern, how in wrong.items() if how} == {}


@pytest.mark.parametrize(
    "pattern",
    [
        r"s(.)(?:\\.|(?!\1).)*\1",
        r"(?:\s*\"[^\"]*\"\s*,?)+",
        r"(?:[^\n]|\n[ \t]+)*?--ignore",
        r"(a+)+b",
        r"(?:\w*\s*)*!",
    ],
)
def test_ambiguous_ones_are_told(pattern: str) -> None:
    assert ambiguous(parser.parse(pattern))


@pytest.mark.parametrize(
    "pattern", [r"(?:[^\"\\]|\\.)*", r"(?:[\w-]+\.)+[a-z]{2,}", r"(?:\n[ \t]+[^\n]*)*"]
)
def test_others_are_not(pattern: str) -> None:
    assert ambiguous(parser.parse(pattern)) is None
