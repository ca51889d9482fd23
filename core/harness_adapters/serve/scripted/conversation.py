"""What three wire dialects say, as one conversation. Reads leniently, as engines do."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import orjson

from harness_adapters.serve.tokens import Call, Message

Body = Mapping[str, Any]

_WORKING_FOLDER = re.compile(r"(?:working directory:?|<cwd>|cwd:)\s*`?(/[^\s`<>\"',]*)", re.I)


class Refused(Exception):
    """The request cannot be served; the text goes into a 400 reply."""


@dataclass(frozen=True)
class Tool:
    """A declared function: its name and the JSON schema of its arguments."""

    name: str
    schema: Mapping[str, Any]
    description: str = ""

    @cached_property
    def rendered(self) -> str:
        function = {
            "name": self.name,
            "description": self.description,
            "parameters": self.schema,
        }
        return orjson.dumps({"type": "function", "function": function}).decode()


@dataclass(frozen=True)
class Conversation:
    messages: tuple[Message, ...]
    tools: tuple[Tool, ...]

    @property
    def step(self) -> int:
        """How many times the model has called tools so far: all the state a play has."""
        return sum(bool(m.calls) for m in self.messages if m.role == "assistant")

    @property
    def said_by_user(self) -> str:
        return "\n".join(m.text for m in self.messages if m.role == "user")

    @property
    def working_folder(self) -> str | None:
        """The folder that the harness tells the model it works in."""
        for message in self.messages:
            if message.role in ("system", "user") and (
                found := _WORKING_FOLDER.search(message.text)
            ):
                return found[1].rstrip("/.") or "/"
        return None


def from_chat(body: Body) -> Conversation:
    """Read a body of ``/v1/chat/completions``."""
    messages = []
    for item in _objects(body.get("messages"), "messages"):
        calls = tuple(
            Call(_name(call.get("function")), _arguments(call.get("function")), str(call.get("id")))
            for call in item.get("tool_calls") or ()
        )
        messages.append(Message(_role(item), _text(item.get("content")), calls))
    tools = [
        Tool(_name(function), function.get("parameters") or {}, function.get("description") or "")
        for tool in body.get("tools") or ()
        if isinstance(function := tool.get("function"), Mapping)
    ]
    return Conversation(tuple(messages), tuple(tools))


def from_messages(body: Body) -> Conversation:
    """Read a body of ``/v1/messages``."""
    messages: list[Message] = []
    if body.get("system"):
        messages.append(Message("system", _text(body["system"])))
    for item in _objects(body.get("messages"), "messages"):
        content = item.get("content")
        blocks = content if isinstance(content, list) else [{"type": "text", "text": content}]
        results = [block for block in blocks if block.get("type") == "tool_result"]
        messages += [Message("tool", _text(block.get("content"))) for block in results]
        calls = tuple(
            Call(_name(block), orjson.dumps(block.get("input") or {}).decode(), str(block["id"]))
            for block in blocks
            if block.get("type") == "tool_use"
        )
        text = _text(blocks)
        if text or calls or not results:
            messages.append(Message(_role(item), text, calls))
    tools = [
        Tool(_name(tool), tool.get("input_schema") or {}, tool.get("description") or "")
        for tool in body.get("tools") or ()
    ]
    return Conversation(tuple(messages), tuple(tools))


def from_responses(body: Body) -> Conversation:
    """Read a body of ``/v1/responses``; items of one reply become one message again."""
    messages: list[Message] = []
    if body.get("instructions"):
        messages.append(Message("system", str(body["instructions"])))
    given = body.get("input")
    items = [{"role": "user", "content": given}] if isinstance(given, str) else given
    for item in _objects(items, "input"):
        kind = item.get("type", "message")
        if kind == "message":
            messages.append(Message(_role(item), _text(item.get("content"))))
        elif kind in ("function_call", "custom_tool_call"):
            arguments = item.get("arguments") if kind == "function_call" else item.get("input")
            call = Call(_name(item), str(arguments), str(item.get("call_id")))
            last = messages[-1] if messages else None
            if last and last.role == "assistant":
                messages[-1] = Message("assistant", last.text, (*last.calls, call))
            else:
                messages.append(Message("assistant", "", (call,)))
        elif kind in ("function_call_output", "custom_tool_call_output"):
            messages.append(Message("tool", _text(item.get("output"))))
    tools = [
        Tool(_name(tool), tool.get("parameters") or {}, tool.get("description") or "")
        for tool in body.get("tools") or ()
        if tool.get("type") == "function"
    ]
    return Conversation(tuple(messages), tuple(tools))


def _objects(value: Any, field: str) -> Sequence[Body]:
    if not isinstance(value, list) or not all(isinstance(item, Mapping) for item in value):
        raise Refused(f"{field}: expected a list of objects")
    return value


def _role(item: Body) -> str:
    role = str(item.get("role"))
    return "system" if role == "developer" else role


def _name(item: Any) -> str:
    return str(item.get("name", "")) if isinstance(item, Mapping) else ""


def _arguments(function: Any) -> str:
    arguments = function.get("arguments") if isinstance(function, Mapping) else None
    return arguments if isinstance(arguments, str) else orjson.dumps(arguments or {}).decode()


def _text(content: Any) -> str:
    """The text of a content field: a string, or the text blocks in a list."""
    if isinstance(content, str):
        return content
    if not isinstance(content, Iterable) or isinstance(content, Mapping):
        return ""
    return "".join(
        str(block["text"])
        for block in content
        if isinstance(block, Mapping) and isinstance(block.get("text"), str)
    )
