"""The messages and tools of a Chat Completions request, checked for all that is read later."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from harness_adapters.gateway.dialects.checks import objects, optional_text, text_field
from harness_adapters.gateway.failures import Refused

ROLES = ("system", "developer", "user", "assistant", "tool")


def read_chat_messages(wire: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The messages as they are; fields that are not known here go on to the engine.

    :raises Refused: one is malformed.
    """
    messages = objects(wire.get("messages"), "messages")
    if not messages:
        raise Refused("'messages' must not be empty")
    for number, message in enumerate(messages):
        if not _is_plain(message):
            _check_message(message, f"messages[{number}].")
    return messages


def read_chat_tools(wire: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Name -> tool as it is.

    :raises Refused: one is malformed, or a server would run it.
    """
    listed = wire.get("tools")
    tools: dict[str, dict[str, Any]] = {}
    for number, tool in enumerate(objects(listed, "tools") if listed is not None else ()):
        function = tool.get("function")
        function = function if isinstance(function, dict) else {}
        name = function.get("name")
        if not isinstance(name, str) or tool.get("type", "function") != "function":
            raise Refused(
                f"'tools[{number}]' is no function; tools that a server runs are not served here",
                code="unsupported_tool",
            )
        optional_text(function, "description", f"tools[{number}].function.")
        if not isinstance(function.get("parameters") or {}, dict):
            raise Refused(f"'tools[{number}].function.parameters' must be an object")
        tools[name] = tool
    return tools


def _is_plain(message: Mapping[str, Any]) -> bool:
    """Most of a history, which comes again with each request: text of one who makes no calls here,
    and results."""
    if type(message.get("content")) is not str:
        return False
    role = message.get("role")
    if role == "tool":
        return len(message) == 3 and type(message.get("tool_call_id")) is str
    return len(message) == 2 and role in ROLES


def _check_message(message: Mapping[str, Any], where: str) -> None:
    role = message.get("role")
    if role not in ROLES:
        raise Refused(f"'{where}role' must be one of {', '.join(ROLES)}")
    content = message.get("content")
    if content is not None and not isinstance(content, str):
        for number, part in enumerate(objects(content, f"{where}content")):
            _check_part(part, f"{where}content[{number}].")
    for name in ("name", "reasoning_content", "reasoning", "refusal"):
        optional_text(message, name, where)
    if role == "tool":
        text_field(message, "tool_call_id", where)
    else:
        optional_text(message, "tool_call_id", where)
    calls = message.get("tool_calls")
    if calls is not None:
        if role != "assistant" and calls != []:
            raise Refused(f"'{where}tool_calls': only an assistant makes calls")
        for number, call in enumerate(objects(calls, f"{where}tool_calls")):
            _check_call(call, f"{where}tool_calls[{number}].")


def _check_part(part: Mapping[str, Any], where: str) -> None:
    kind = text_field(part, "type", where)
    if kind in ("text", "refusal"):
        text_field(part, kind, where)
    else:
        optional_text(part, "text", where)


def _check_call(call: Mapping[str, Any], where: str) -> None:
    text_field(call, "id", where)
    function = call.get("function")
    if call.get("type", "function") != "function" or not isinstance(function, dict):
        raise Refused(f"'{where}type' must be function")
    text_field(function, "name", f"{where}function.")
    text_field(function, "arguments", f"{where}function.")
