"""Anthropic Messages, read into the one message model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import orjson

from harness_adapters.gateway.dialects.base import ModelRequest
from harness_adapters.gateway.dialects.checks import effort, objects, positive, refuse, text_field
from harness_adapters.gateway.dialects.dropped import (
    CACHE,
    NO_MEANING,
    PINNED,
    note_dropped,
    note_dropped_fields,
)
from harness_adapters.gateway.dialects.history import History, Message, chat_call, chat_tool
from harness_adapters.gateway.failures import Refused

Block = dict[str, Any]

READ = frozenset(
    {"model", "messages", "system", "tools", "tool_choice", "stop_sequences", "max_tokens"}
    | {"stream", "output_config"}
)
DROPPED = {
    "temperature": PINNED,
    "top_p": PINNED,
    "top_k": PINNED,
    "thinking": "the engine's chat template decides whether the model thinks",
    "cache_control": CACHE,
    "metadata": NO_MEANING,
    "service_tier": NO_MEANING,
    "inference_geo": NO_MEANING,
    "speed": NO_MEANING,
    "betas": NO_MEANING,
    "context_management": "the prompt is what the harness sends, nothing is cleared from it",
}
REFUSED = {
    "mcp_servers": "a server would run its tools before the guard sees a call",
    "container": "a server would run code before the guard sees a call",
    "output_format": "it changes which tokens can be sampled",
}
SERVER_TOOL = "a tool that the server runs is not served here, since no guard sees its calls first"
BUILT_IN = "a tool without an 'input_schema' is not served here, since the model does not know it"

# Claude Code's first system block: for its maker's accounting, and not the same in each session.
BILLING = "x-anthropic-billing-header:"
LEFT_OUT = {
    "image": "[image left out: the model reads text only]",
    "document": "[document left out: the model reads text only]",
}


def read_messages(wire: Mapping[str, Any]) -> ModelRequest:
    """:raises Refused: it is malformed, or asks for something that cannot be captured."""
    refuse(wire, REFUSED)
    output = wire.get("output_config")
    output = output if isinstance(output, dict) else {}
    refuse(output, {"format": REFUSED["output_format"]})
    note_dropped_fields(wire, read=READ, reasons=DROPPED)
    messages = objects(wire.get("messages"), "messages")
    if not messages:
        raise Refused("'messages' must not be empty")
    tools, added = _tools(wire.get("tools"), messages)
    history = History()
    history.system(_system(wire.get("system")))
    for number, message in enumerate(messages):
        _add(history, message, f"messages[{number}].")
    return ModelRequest(
        model=text_field(wire, "model"),
        messages=history.messages,
        tools=tools,
        added=added,
        options={**_options(wire, tools), **effort(output.get("effort"))},
        max_tokens=positive(wire, "max_tokens"),
        stream=wire.get("stream") is True,
        include_usage=True,
    )


def _system(system: object) -> str:
    blocks = _blocks(system, "system") if system is not None else []
    return "\n\n".join(
        text for block in blocks if (text := _text(block)) and not text.startswith(BILLING)
    )


def _add(history: History, message: Mapping[str, Any], where: str) -> None:
    role = message.get("role")
    blocks = _blocks(message.get("content"), f"{where}content")
    if role == "assistant":
        _add_assistant(history, blocks, where)
    elif role == "system":
        history.system(_joined(blocks))
    elif role == "user":
        for block in blocks:
            if block.get("type") == "tool_result":
                history.tool(text_field(block, "tool_use_id", where), _result(block, where))
        rest = [block for block in blocks if block.get("type") != "tool_result"]
        if rest or not blocks:
            history.user(_joined(rest))
    else:
        raise Refused(f"'{where}role' must be user, assistant or system")


def _add_assistant(history: History, blocks: list[Block], where: str) -> None:
    calls: list[Message] = []
    thinking: list[str] = []
    for block in blocks:
        if block.get("type") == "tool_use":
            given = block.get("input")
            if not isinstance(given, dict):
                raise Refused(f"'{where}content': the input of a tool_use must be an object")
            id, name = text_field(block, "id", where), text_field(block, "name", where)
            calls.append(chat_call(id, name, orjson.dumps(given).decode()))
        elif block.get("type") == "thinking":
            thinking.append(text_field(block, "thinking", where))
    said = [block for block in blocks if block.get("type") not in ("tool_use", "thinking")]
    history.assistant(_joined(said), reasoning="\n".join(thinking), calls=calls)


def _result(block: Block, where: str) -> str:
    content = block.get("content")
    text = _joined(_blocks(content, f"{where}content")) if content is not None else ""
    return f"Error: {text}" if block.get("is_error") is True else text


def _blocks(content: object, where: str) -> list[Block]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return objects(content, where)


def _joined(blocks: list[Block]) -> str:
    return "\n".join(text for block in blocks if (text := _text(block)) is not None)


def _text(block: Block) -> str | None:
    """What an engine that reads text gets of a block; ``None`` for nothing."""
    kind = block.get("type")
    if kind == "text":
        return text_field(block, "text")
    source = block.get("source")
    if kind == "document" and isinstance(source, dict) and source.get("type") == "text":
        return text_field(source, "data")
    if kind == "tool_reference":
        return f"Tool loaded: {block.get('tool_name')}"
    note_dropped(f"a block of type {kind!r}", "the engine reads text only")
    return LEFT_OUT.get(str(kind))


def _tools(
    listed: object, messages: list[dict[str, Any]]
) -> tuple[dict[str, dict[str, Any]], set[str]]:
    """Declared tools with those that a message adds, and the names of the latter. One with
    ``defer_loading`` is none until a message refers to it."""
    declared = list(objects(listed, "tools")) if listed is not None else []
    from_start = len(declared)
    loaded: set[str] = set()
    for one in _loaded(messages):
        if isinstance(one, str):
            loaded.add(one)
        else:
            declared.append(one)
    tools: dict[str, dict[str, Any]] = {}
    added: set[str] = set()
    for number, tool in enumerate(declared):
        name, where = tool.get("name"), f"tools[{number}]"
        kind = tool.get("type")
        if kind not in (None, "custom"):
            raise Refused(f"'{where}' ({kind}): {SERVER_TOOL}", code="unsupported_tool")
        if not isinstance(name, str) or not name:
            raise Refused(f"'{where}.name' must be a string")
        if not isinstance(tool.get("input_schema"), dict):
            raise Refused(f"'{where}': {BUILT_IN}", code="unsupported_tool")
        if tool.get("defer_loading") is True and name not in loaded:
            note_dropped(f"the tool {name!r}", "deferred, and nothing has loaded it")
            continue
        if tool.get("defer_loading") is True or (number >= from_start and name not in tools):
            added.add(name)
        tools[name] = chat_tool(name, tool.get("description"), tool["input_schema"])
    return tools, added


def _loaded(messages: list[dict[str, Any]]) -> Iterator[str | dict[str, Any]]:
    """Tools that came into the conversation later: names of deferred ones, and whole tools."""
    for message in messages:
        content = message.get("content")
        for block in content if isinstance(content, list) else ():
            if not isinstance(block, dict):
                continue
            inner = block.get("content")
            for one in (block, *(inner if isinstance(inner, list) else ())):
                if not isinstance(one, dict):
                    continue
                if one.get("type") == "tool_addition":
                    added = one.get("tool")
                    one = added if isinstance(added, dict) else {}
                if one.get("type") == "tool_reference":
                    name = one.get("tool_name") or one.get("name")
                    if isinstance(name, str):
                        yield name
                elif one.get("type") == "tool_definition" and isinstance(
                    definition := one.get("definition"), dict
                ):
                    yield definition


def _options(wire: Mapping[str, Any], tools: Mapping[str, Any]) -> dict[str, Any]:
    options: dict[str, Any] = {}
    stop = wire.get("stop_sequences")
    if stop:
        if not isinstance(stop, list) or not all(isinstance(text, str) for text in stop):
            raise Refused("'stop_sequences' must be a list of strings")
        options["stop"] = stop
    choice = wire.get("tool_choice")
    if choice is None:
        return options
    kind = choice.get("type") if isinstance(choice, dict) else None
    if kind not in ("auto", "none"):
        raise Refused("a forced 'tool_choice' is not served here", code="unsupported_parameter")
    if tools:  # engines answer 400 to either of these without tools
        options["tool_choice"] = kind
        if choice.get("disable_parallel_tool_use") is True:
            options["parallel_tool_calls"] = False
    return options
