"""Tool-call arguments: the strict reading, and every reading that a lax client may make of them.

All of it is linear in the text's length.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Iterator
from typing import Any

from harness_adapters.gateway.guard.errors import (
    MAX_MALFORMED,
    MAX_MEMBERS,
    MAX_NESTING,
    MAX_RAW,
)
from harness_adapters.syntax_tree import parse_python

_MAX_REPAIRS = 12
_MAX_LITERAL = 64 * 1024
# A quote that is never closed runs to the end, so no character is looked at twice.
_TOKEN = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[\[\]{},]', re.DOTALL)
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]|[\ud800-\udfff]")
_TRAILING_COMMA = re.compile(r'("(?:[^"\\]++|\\.)*+"?)|,(?=\s*+[\]}])', re.DOTALL)
_BAD_ESCAPE = re.compile(r'\\(?:(["\\/bfnrt]|u[0-9a-fA-F]{4})|)', re.DOTALL)
_CLOSING = re.compile(r'"(?:[^"\\]++|\\.)*+("?)|[\[\]{},]', re.DOTALL)
_HALF_ESCAPE = re.compile(r"((?<!\\)(?:\\\\)*+)\\(?:u[0-9a-fA-F]{0,3})?\Z")
_DANGLING = re.compile(r'(?:,|"(?:[^"\\]++|\\.)*+"\s*+:|:|\b[a-zA-Z]+|-|\d[\d.eE+-]*+)\s*\Z')


class _NotStrict(ValueError):
    pass


def strict_object(raw: str) -> dict[str, Any] | None:
    """The arguments as every client reads them, or ``None``.

    One JSON object, nothing after it, no key twice at any depth, no NaN or Infinity, no lone
    surrogates, within the limits of size and nesting.
    """
    if not raw.lstrip(" \t\r\n").startswith("{"):
        return None
    value = _strict_value(raw)
    if ("\\u" in raw or not raw.isascii()) and _SURROGATE.search(raw) and not _encodable(value):
        return None
    return value if isinstance(value, dict) else None


def strict_list(raw: str) -> list[Any] | None:
    """A list in place of an object, as tools that take words get it."""
    value = _strict_value(raw)
    return value if isinstance(value, list) else None


def _strict_value(raw: str) -> Any:
    if len(raw) > MAX_RAW or (raw.count(",") > MAX_MEMBERS and _beyond(raw) is not None):
        return None
    try:
        value = _STRICT.decode(raw)
    except (ValueError, RecursionError):
        return None
    return None if _deeper(value, MAX_NESTING) else value


def _deeper(value: Any, levels: int) -> bool:
    """Whether objects and lists are nested more than so many levels deep."""
    layer = [value]
    for _ in range(levels + 1):
        nested = [one for one in layer if isinstance(one, (dict, list))]
        if not nested:
            return False
        layer = [one for at in nested for one in (at.values() if isinstance(at, dict) else at)]
    return True


def beyond_limits(raw: str) -> str | None:
    """``None``, or which limit malformed arguments are beyond, in words."""
    if (reason := _beyond(raw)) is None and len(raw) > MAX_MALFORMED:
        return f"malformed arguments of {len(raw)} characters, more than {MAX_MALFORMED}"
    return reason


def _beyond(raw: str) -> str | None:
    if len(raw) > MAX_RAW:
        return f"arguments of {len(raw)} characters, more than {MAX_RAW}"
    if raw.count("{") + raw.count("[") > MAX_NESTING or raw.count(",") > MAX_MEMBERS:
        deep = members = 0
        for token in _TOKEN.finditer(raw):
            character = raw[token.start()]
            if character in "{[":
                deep += 1
                if deep > MAX_NESTING:
                    return f"arguments nested more than {MAX_NESTING} levels deep"
            elif character in "}]":
                deep -= 1
            elif character == ",":
                members += 1
                if members > MAX_MEMBERS:
                    return f"arguments of more than {MAX_MEMBERS} members"
    return None


def repairs(raw: str) -> list[dict[str, Any]]:
    """What lax clients may make of arguments that are not strict: every plausible object, once.

    Empty text is an empty object; otherwise the first object of several, either of two equal keys,
    a truncated object closed, trailing commas, raw control characters, bad escapes, Python
    literals, and an object inside a JSON string.
    """
    if beyond_limits(raw) is not None:
        return []
    if raw.strip() in ("", "null"):
        return [{}]
    found: list[dict[str, Any]] = []
    for value in _readings(raw):
        if isinstance(value, str) and len(found) < _MAX_REPAIRS:
            inner = _lax(value, _last_wins)
            value = inner if isinstance(inner, dict) else None
        if isinstance(value, dict) and value not in found:
            found.append(value)
        if len(found) >= _MAX_REPAIRS:
            break
    return found


def _readings(raw: str) -> Iterator[Any]:
    for text in _texts(raw):
        yield _lax(text, _last_wins)
        yield _lax(text, _first_wins)
    yield from _objects(raw)
    if len(raw) <= _MAX_LITERAL and raw.lstrip().startswith("{"):
        try:
            yield ast.literal_eval(parse_python(raw.strip(), mode="eval"))
        except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
            pass


def _texts(raw: str) -> Iterator[str]:
    yield raw
    start = raw.find("{")
    if start < 0:
        return
    body = raw[start:]
    tidy = _TRAILING_COMMA.sub(lambda m: m.group(1) or "", body)
    escaped = _BAD_ESCAPE.sub(lambda m: m.group(0) if m.group(1) else "\\\\", tidy)
    for text in dict.fromkeys((tidy, escaped)):
        yield text
        yield from _closed(text)


def _closed(text: str) -> Iterator[str]:
    """A truncated object, closed; once with its last, half-said member and once without."""
    stack: list[str] = []
    cut = 0  # where the last whole member ended, and what was open there
    open_at_cut: list[str] = []
    for token in _CLOSING.finditer(text):
        character = token.group()
        if character in "{[":
            stack.append("}" if character == "{" else "]")
            cut, open_at_cut = token.end(), list(stack)
        elif character in "}]":
            if stack:
                stack.pop()
            if not stack:
                return  # complete: what follows is trailing text
        elif character == ",":
            cut, open_at_cut = token.start(), list(stack)
        elif not token.group(1):  # a string that is never closed
            text = _HALF_ESCAPE.sub(r"\1", text) + '"'
            break
    closers = "".join(reversed(stack))
    yield text + closers
    yield text[:-256] + _DANGLING.sub("", text[-256:]) + closers
    yield text + ":null" + closers
    yield text[:cut] + "".join(reversed(open_at_cut))


def _objects(raw: str) -> Iterator[Any]:
    """Objects that stand one after another, or in other text."""
    at = raw.find("{")
    for _ in range(4):
        if at < 0:
            return
        try:
            value, at = _decoder(_last_wins).raw_decode(raw, at)
        except (ValueError, RecursionError):
            at = raw.find("{", at + 1)
            continue
        yield value
        at = raw.find("{", at)


def _lax(text: str, pairs: Callable[[list[tuple[str, Any]]], dict[str, Any]]) -> Any:
    try:
        return _decoder(pairs).decode(text)
    except (ValueError, RecursionError):
        return None


def _decoder(pairs: Callable[[list[tuple[str, Any]]], dict[str, Any]]) -> json.JSONDecoder:
    return json.JSONDecoder(object_pairs_hook=pairs, strict=False)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise _NotStrict("a key stands twice")
    return found


def _last_wins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    return dict(pairs)


def _first_wins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    return dict(reversed(pairs))


def _finite(text: str) -> float:
    value = float(text)
    if value in (float("inf"), float("-inf")):
        raise _NotStrict("a number beyond all bounds")
    return value


def _no_constant(name: str) -> Any:
    raise _NotStrict(f"{name} is no JSON")


def _encodable(value: Any) -> bool:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


_STRICT = json.JSONDecoder(
    object_pairs_hook=_unique, parse_float=_finite, parse_constant=_no_constant
)
