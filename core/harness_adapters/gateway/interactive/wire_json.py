"""JSON between two parties: read once, and written anew, so that what a client reads is what was
judged, whatever it would have made of a key that stands twice."""

from __future__ import annotations

import json
from typing import Any

import orjson

from harness_adapters.gateway.failures import UpstreamError

Wire = dict[str, Any]
_DEEPEST = 100


def read_object(data: bytes) -> Wire:
    """:raises UpstreamError: it is no JSON object."""
    value = _loads(data)
    if not isinstance(value, dict):
        raise UpstreamError("the upstream sent something that is no JSON object")
    return value


def write_json(value: Any) -> bytes:
    """On one line. Half a surrogate pair, as servers send that cut text anywhere, stays escaped."""
    try:
        return orjson.dumps(value)
    except TypeError:
        pass
    try:
        return json.dumps(value, separators=(",", ":")).encode()
    except RecursionError:
        raise UpstreamError("the upstream sent JSON that is nested too deeply") from None


def _loads(data: bytes) -> Any:
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError as error:
        try:  # lone surrogates, which orjson refuses
            return json.loads(data.decode(), parse_constant=_no_constant)
        except (ValueError, RecursionError):
            raise UpstreamError(f"the upstream sent malformed JSON: {error}") from None


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


_CALL_KEYS = frozenset(("tool_calls", "toolcalls", "function_call", "functioncall"))
_ABOUT_CALLS = "safeguard_results"  # Anthropic's own findings on the calls of a message
_CALL_TYPES = frozenset(("tool_use", "tool_call", "function_call", "input_json_delta"))


def carries_call(value: Any, *, _deep: int = 0) -> bool:
    """Whether some part of a value looks like a call of a tool, in any protocol's form.

    For whatever the guard has no exact reading of. Definitions and results of tools do not count.
    """
    if _deep > _DEEPEST:
        return True
    if isinstance(value, dict):
        for key, inner in value.items():
            if key == _ABOUT_CALLS:
                continue
            if inner and key.lower() in _CALL_KEYS and isinstance(inner, (dict, list)):
                return True
            if key.lower() == "type" and isinstance(inner, str) and _names_call(inner.lower()):
                return True
            if carries_call(inner, _deep=_deep + 1):
                return True
        return False
    if isinstance(value, list):
        return any(carries_call(inner, _deep=_deep + 1) for inner in value)
    return False


def _names_call(kind: str) -> bool:
    return kind in _CALL_TYPES or kind.endswith(("_call", "_tool_use"))
