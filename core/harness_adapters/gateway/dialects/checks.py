"""Checked access to a request body's fields."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from harness_adapters.gateway.failures import Refused


def text_field(wire: Mapping[str, Any], name: str, where: str = "") -> str:
    """:raises Refused: it is missing or no string."""
    value = wire.get(name)
    if not isinstance(value, str):
        raise Refused(f"'{where}{name}' must be a string")
    return value


def objects(value: object, where: str) -> list[dict[str, Any]]:
    """:raises Refused: it is no list of objects."""
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise Refused(f"'{where}' must be a list of objects")
    return value


def positive(wire: Mapping[str, Any], name: str) -> int | None:
    """:raises Refused: it is there and no positive integer."""
    value = wire.get(name)
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise Refused(f"{name!r} must be a positive integer")
    return value


def refuse(wire: Mapping[str, Any], reasons: Mapping[str, str]) -> None:
    """:raises Refused: one of these fields is there and not empty."""
    for name, reason in reasons.items():
        if wire.get(name):
            raise Refused(f"{name!r} is not served here: {reason}", code="unsupported_parameter")


def effort(value: object) -> dict[str, Any]:
    """The engine's option for how hard to think, if it is one that all engines know."""
    return {"reasoning_effort": value} if value in ("low", "medium", "high") else {}


def optional_text(wire: Mapping[str, Any], name: str, where: str = "") -> None:
    """:raises Refused: it is there and no string."""
    if wire.get(name) is not None:
        text_field(wire, name, where)


def check_options(options: Mapping[str, Any]) -> None:
    """The shapes of what goes to the engine as it came.

    :raises Refused: one has another.
    """
    stop = options.get("stop", [])
    if not isinstance(stop, str) and not (
        isinstance(stop, list) and all(isinstance(text, str) for text in stop)
    ):
        raise Refused("'stop' must be a string or a list of strings")
    if not isinstance(options.get("chat_template_kwargs", {}), dict):
        raise Refused("'chat_template_kwargs' must be an object")
    if not isinstance(options.get("parallel_tool_calls", True), bool):
        raise Refused("'parallel_tool_calls' must be true or false")
    optional_text(options, "reasoning_effort")
