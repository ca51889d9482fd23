"""Conversations as OpenAI chat messages, in JSON, JSONL or parquet: one session per record, or one
message per record. hermes' own export and mini-swe-agent's log are of this shape too."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from harness_adapters.tasks.traces.builder import TraceBuilder
from harness_adapters.tasks.traces.events import Trace
from harness_adapters.tasks.traces.fields import (
    Record,
    as_text,
    flag,
    record,
    records,
    seconds,
    string,
    text_of,
)

_ROLES = ("system", "developer", "user", "assistant", "tool", "function")
_KEYS = ("messages", "conversation", "prompt")


def recognises(found: Sequence[Record]) -> bool:
    return any(_messages(one) or one.get("role") in _ROLES for one in found)


def read(found: Sequence[Record]) -> list[Trace]:
    sessions = [one for one in found if _messages(one)]
    if sessions:
        return [read_session(one, format="chat", harness="") for one in sessions]
    return [read_session({"messages": list(found)}, format="chat", harness="")]


def read_session(session: Record, *, format: str, harness: str) -> Trace:
    """One record that holds a whole session."""
    messages = _messages(session)
    # SQLite's rows of a rewound conversation stay, inactive.
    active = [one for one in messages if flag(one.get("active")) is not False]
    builder = TraceBuilder()
    if not any(one.get("role") == "system" for one in active):
        builder.message("system", string(session.get("system_prompt")))
    add_messages(builder, active)
    return Trace(
        format=format,
        harness=harness,
        events=builder.events,
        session=string(session.get("session_id")) or string(session.get("id")),
        parent=string(session.get("parent_session_id")),
        model=string(session.get("model")),
        cwd=string(session.get("cwd")),
        declared_tools=declared(session.get("tools")),
        abandoned=len(messages) - len(active),
    )


def add_messages(builder: TraceBuilder, messages: Sequence[Record]) -> None:
    for message in messages:
        _add(builder, message)


def declared(tools: Any) -> dict[str, Record] | None:
    """Tool name -> wire schema, of a list of tools or of its JSON."""
    if isinstance(tools, str):
        tools = _parsed(tools)
    if not isinstance(tools, list):
        return None
    named: dict[str, Record] = {}
    for tool in records(tools):
        name = string(record(tool.get("function")).get("name")) or string(tool.get("name"))
        if name:
            named[name] = tool
    return named or None


def _messages(session: Record) -> list[Record]:
    """Parquet writers keep them as a list of structs or as JSON."""
    for key in _KEYS:
        value = session.get(key)
        if isinstance(value, str) and value.lstrip()[:1] == "[":
            value = _parsed(value)
        found = [one for one in records(value) if one.get("role") in _ROLES]
        if found:
            return found
    return []


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _add(builder: TraceBuilder, message: Record) -> None:
    time = seconds(message.get("timestamp"))
    content = message.get("content")
    match message.get("role"):
        case "system" | "developer":
            builder.message("system", text_of(content), time=time)
        case "user":
            builder.message("user", text_of(content), time=time)
        case "assistant":
            thought = message.get("reasoning_content") or message.get("reasoning")
            builder.reasoning(string(thought), time=time)
            builder.message("assistant", text_of(content), time=time)
            for call in _calls(message):
                function = record(call.get("function"))
                builder.call(
                    string(call.get("id")),
                    string(function.get("name")) or string(call.get("name")),
                    function.get("arguments", call.get("arguments")),
                    time=time,
                )
        case "tool" | "function":
            ids = message.get("tool_call_ids")
            id = string(message.get("tool_call_id")) or (
                string(ids[0]) if isinstance(ids, list) and ids else ""
            )
            builder.result(id, as_text(content), is_error=flag(message.get("is_error")), time=time)
        case _:
            pass


def _calls(message: Record) -> list[Record]:
    calls = message.get("tool_calls")
    if isinstance(calls, str):
        calls = _parsed(calls)
    old = record(message.get("function_call"))
    return [*records(calls), *([{"function": old}] if old else [])]
