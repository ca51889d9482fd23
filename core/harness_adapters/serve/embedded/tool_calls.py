"""Finding tool calls in sampled text, by the family of the chat template.

What is not exactly a call stays text. If one of several calls is malformed, all of it stays text:
half of what a model wanted is not what it wanted.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable
from dataclasses import dataclass

from harness_adapters.serve.model_folder import Family

MOST_CALL_CHARACTERS = 1_000_000


@dataclass(frozen=True, slots=True)
class SampledCall:
    """:param arguments: JSON text, as it was sampled where the family writes JSON."""

    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Parsed:
    """What a reply says and which calls it makes."""

    text: str
    calls: tuple[SampledCall, ...] = ()


class _Malformed(Exception):
    pass


Parser = Callable[[str], Parsed]
_json = json.JSONDecoder()


def hermes(text: str) -> Parsed:
    """``<tool_call>{"name": ..., "arguments": {...}}</tool_call>``, any number of them. The last
    may lack its end."""
    said, *pieces = text.split("<tool_call>")
    try:
        calls = tuple(_object(piece.partition("</tool_call>")[0], "arguments") for piece in pieces)
    except _Malformed:
        return Parsed(text)
    return Parsed(said.rstrip() if calls else text, calls)


def llama_json(text: str) -> Parsed:
    """``{"name": ..., "parameters": {...}}``, several separated by ``;``, and nothing else."""
    body = text.strip().removeprefix("<|python_tag|>").strip()
    calls: list[SampledCall] = []
    try:
        while body:
            end = _end_of_object(body)
            calls.append(_object(body[:end], "parameters"))
            body = body[end:].lstrip()
            if body and not body.startswith(";"):
                return Parsed(text)
            body = body[1:].lstrip()
    except _Malformed:
        return Parsed(text)
    return Parsed("" if calls else text, tuple(calls))


def lfm2(text: str) -> Parsed:
    """``<|tool_call_start|>[f(a="b", n=1), ...]<|tool_call_end|>``: Python calls with literals."""
    said, marker, rest = text.partition("<|tool_call_start|>")
    if not marker:
        return Parsed(text)
    body, end, after = rest.partition("<|tool_call_end|>")
    try:
        calls = _python_calls(body)
    except _Malformed:
        return Parsed(text)
    return Parsed((said + after if end else said).strip(), calls)


PARSERS: dict[Family, Parser] = {
    Family.HERMES: hermes,
    Family.LFM2: lfm2,
    Family.LLAMA_JSON: llama_json,
}


def _object(body: str, field: str) -> SampledCall:
    """One call as JSON. Written name first, its arguments stay the very text that was sampled."""
    if len(body) > MOST_CALL_CHARACTERS:
        raise _Malformed
    try:
        call = _json.decode(body.strip())
        name, arguments = call["name"], call.get(field, {})
        if not isinstance(name, str) or not isinstance(arguments, dict):
            raise _Malformed
    except (json.JSONDecodeError, KeyError, TypeError, AttributeError, RecursionError):
        raise _Malformed from None
    head = re.match(rf'\s*\{{\s*"name"\s*:\s*"(?:[^"\\]|\\.)*"\s*,\s*"{field}"\s*:\s*', body)
    if head and len(call) == 2:
        return SampledCall(name, body[head.end() :].rstrip().removesuffix("}").rstrip())
    return SampledCall(name, json.dumps(arguments, ensure_ascii=False))


def _end_of_object(body: str) -> int:
    try:
        return _json.raw_decode(body)[1]
    except (json.JSONDecodeError, RecursionError):
        raise _Malformed from None


def _python_calls(body: str) -> tuple[SampledCall, ...]:
    if len(body) > MOST_CALL_CHARACTERS:
        raise _Malformed
    try:
        tree = ast.parse(body.strip(), mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        raise _Malformed from None
    if not isinstance(tree, ast.List) or not tree.elts:
        raise _Malformed
    return tuple(_python_call(one) for one in tree.elts)


def _python_call(node: ast.expr) -> SampledCall:
    if not isinstance(node, ast.Call) or node.args:
        raise _Malformed
    arguments: dict[str, object] = {}
    for keyword in node.keywords:
        if keyword.arg is None:
            raise _Malformed
        arguments[keyword.arg] = _value(keyword.value)
    try:
        return SampledCall(_dotted(node.func), json.dumps(arguments, ensure_ascii=False))
    except (TypeError, ValueError, RecursionError):
        raise _Malformed from None


def _dotted(node: ast.expr) -> str:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return f"{_dotted(node.value)}.{node.attr}"
    raise _Malformed


def _value(node: ast.expr) -> object:
    """A literal, in Python's spelling or in JSON's."""
    if isinstance(node, ast.Name) and node.id in ("true", "false", "null"):
        return {"true": True, "false": False, "null": None}[node.id]
    if isinstance(node, ast.List):
        return [_value(item) for item in node.elts]
    if isinstance(node, ast.Dict):
        pairs = zip(node.keys, node.values, strict=True)
        return {_key(key): _value(value) for key, value in pairs}
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        raise _Malformed from None


def _key(node: ast.expr | None) -> str:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    raise _Malformed
