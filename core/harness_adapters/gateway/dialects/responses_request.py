"""OpenAI Responses, read into the one message model."""

from __future__ import annotations

from collections.abc import Mapping
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
from harness_adapters.gateway.dialects.history import History, Message, chat_call
from harness_adapters.gateway.dialects.responses_tools import call_of_item, read_tools
from harness_adapters.gateway.failures import Refused

READ = frozenset(
    {"model", "input", "instructions", "tools", "tool_choice", "parallel_tool_calls"}
    | {"max_output_tokens", "stream", "reasoning", "text"}
)
DROPPED = {
    "temperature": PINNED,
    "top_p": PINNED,
    "top_logprobs": "the gateway asks for what it captures",
    "store": "nothing is stored here",
    "include": "nothing is encrypted here, and no server-side tool has results",
    "prompt_cache_key": CACHE,
    "prompt_cache_retention": CACHE,
    "prompt_cache_options": CACHE,
    "metadata": NO_MEANING,
    "client_metadata": NO_MEANING,
    "user": NO_MEANING,
    "safety_identifier": NO_MEANING,
    "service_tier": NO_MEANING,
    "stream_options": NO_MEANING,
    "max_tool_calls": "it limits tools that a server runs",
    "truncation": "the prompt is what the harness sends, nothing is cut from it",
    "context_management": "the prompt is what the harness sends, nothing is cut from it",
}
NOT_STORED = "nothing is stored here: send the whole conversation"
REFUSED = {
    "previous_response_id": NOT_STORED,
    "conversation": NOT_STORED,
    "prompt": NOT_STORED,
    "background": NOT_STORED,
}
CALLS = ("function_call", "custom_tool_call", "local_shell_call")
RESULTS = ("function_call_output", "custom_tool_call_output", "local_shell_call_output")
LEFT_OUT = {
    "input_image": "[image left out: the model reads text only]",
    "input_file": "[file left out: the model reads text only]",
}


def read_responses(wire: Mapping[str, Any]) -> ModelRequest:
    """:raises Refused: it is malformed, or asks for something that cannot be captured."""
    refuse(wire, REFUSED)
    form = wire.get("text")
    form = form.get("format") if isinstance(form, dict) else None
    if form is not None and form != {"type": "text"}:
        raise Refused("'text.format' is not served here", code="unsupported_parameter")
    note_dropped_fields(wire, read=READ, reasons=DROPPED)
    tools, forms = read_tools(wire.get("tools"))
    reasoning = wire.get("reasoning")
    wanted = reasoning.get("effort") if isinstance(reasoning, dict) else None
    return ModelRequest(
        model=text_field(wire, "model"),
        messages=_messages(wire),
        tools=tools,
        forms=forms,
        options={**_options(wire, tools), **effort(wanted)},
        max_tokens=positive(wire, "max_output_tokens"),
        stream=wire.get("stream") is True,
        include_usage=True,
    )


def _messages(wire: Mapping[str, Any]) -> list[Message]:
    given = wire.get("input")
    items = [{"role": "user", "content": given}] if isinstance(given, str) else given
    reader = _Reader()
    instructions = wire.get("instructions")
    if instructions is not None:
        reader.history.system(_text(instructions, "instructions"))
    for number, item in enumerate(objects(items, "input")):
        reader.add(item, f"input[{number}].")
    reader.end_reply()
    if not reader.history.messages:
        raise Refused("'input' must not be empty")
    return reader.history.messages


class _Reader:
    """Puts the items of one reply (reasoning, text, calls) back into one assistant message."""

    def __init__(self) -> None:
        self.history = History()
        self._reasoning: list[str] = []
        self._text: str | None = None
        self._calls: list[Message] = []

    def end_reply(self) -> None:
        if self._reasoning or self._text is not None or self._calls:
            reasoning = "\n".join(self._reasoning)
            self.history.assistant(self._text, reasoning=reasoning, calls=self._calls)
        self._reasoning, self._text, self._calls = [], None, []

    def add(self, item: Mapping[str, Any], where: str) -> None:
        kind = item.get("type") or "message"
        if kind == "message":
            self._add_message(item, where)
        elif kind == "reasoning":
            if self._text is not None or self._calls:
                self.end_reply()
            self._reasoning.append(_reasoning(item, where))
        elif kind in CALLS:
            self._calls.append(chat_call(*call_of_item(item, where)))
        elif kind in RESULTS:
            self.end_reply()
            id = text_field(item, "call_id" if item.get("call_id") else "id", where)
            self.history.tool(id, _output(item.get("output"), where))
        elif kind == "item_reference":
            raise Refused(f"'{where}type': {NOT_STORED}", code="unsupported_parameter")
        else:
            note_dropped(f"an item of type {kind!r}", "it stands for nothing that was said here")

    def _add_message(self, item: Mapping[str, Any], where: str) -> None:
        role = item.get("role")
        text = _text(item.get("content"), f"{where}content")
        if role == "assistant":
            if self._text is not None or self._calls:
                self.end_reply()
            self._text = text
            return
        self.end_reply()
        if role in ("system", "developer"):
            self.history.system(text)
        elif role == "user":
            self.history.user(text)
        else:
            raise Refused(f"'{where}role' must be user, assistant, system or developer")


def _text(content: object, where: str) -> str:
    if isinstance(content, str):
        return content
    parts: list[str] = []
    for part in objects(content, where):
        kind = part.get("type")
        if kind in ("input_text", "output_text", "text", "summary_text", "reasoning_text"):
            parts.append(text_field(part, "text", f"{where}."))
        elif kind == "refusal":
            parts.append(text_field(part, "refusal", f"{where}."))
        else:
            note_dropped(f"a part of type {kind!r}", "the engine reads text only")
            if isinstance(kind, str) and kind in LEFT_OUT:
                parts.append(LEFT_OUT[kind])
    return "\n".join(parts)


def _reasoning(item: Mapping[str, Any], where: str) -> str:
    """Reasoning in full where the item has it, else its summary."""
    for name in ("content", "summary"):
        if item.get(name):
            return _text(item[name], f"{where}{name}")
    return ""


def _output(output: object, where: str) -> str:
    if isinstance(output, dict):
        return orjson.dumps(output).decode()
    return "" if output is None else _text(output, f"{where}output")


def _options(wire: Mapping[str, Any], tools: Mapping[str, Any]) -> dict[str, Any]:
    choice = wire.get("tool_choice")
    if choice not in (None, "auto", "none"):
        raise Refused("a forced 'tool_choice' is not served here", code="unsupported_parameter")
    options: dict[str, Any] = {}
    if tools:  # engines answer 400 to either of these without tools
        if choice is not None:
            options["tool_choice"] = choice
        if isinstance(parallel := wire.get("parallel_tool_calls"), bool):
            options["parallel_tool_calls"] = parallel
    return options
