"""A harness's side of the three dialects: what it sends, and how it reads what comes back.

The accumulators here are written from the protocols, and share nothing with what writes them.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import orjson
from tests.core.gateway.conftest import Client

Wire = dict[str, Any]
SCHEMA = {"type": "object", "properties": {"command": {"type": "string"}}}


class EventReader:
    """Bytes in any portions -> events, each as its name and its data."""

    def __init__(self) -> None:
        self._held = b""

    def feed(self, data: bytes) -> Iterator[tuple[str, str]]:
        *whole, self._held = (self._held + data).split(b"\n\n")
        for block in whole:
            name, lines = "", []
            for line in block.decode().split("\n"):
                field, _, value = line.partition(": ")
                if field == "event":
                    name = value
                elif field == "data":
                    lines.append(value)
            yield name, "\n".join(lines)

    def end(self) -> None:
        assert not self._held, "the stream ends within an event"


def read_events(*portions: bytes) -> list[tuple[str, str]]:
    reader = EventReader()
    events = [event for portion in portions for event in reader.feed(portion)]
    reader.end()
    return events


@dataclass(frozen=True)
class Said:
    """What a reply says, in no dialect. ``calls``: id, name, arguments as an object or raw text."""

    text: str | None
    calls: list[tuple[str, str, Any]]
    finish: str


@dataclass(frozen=True)
class Dialect:
    """:param terminal: a piece of the event after which a harness may leave."""

    name: str
    path: str
    terminal: bytes
    ask: Callable[..., Wire]
    accumulate: Callable[[list[tuple[str, str]]], Wire]
    said: Callable[[Wire], Said]
    continued: Callable[[Wire, Wire, str], Wire]

    async def post(self, client: Client, body: Wire, **headers: str) -> tuple[int, Any]:
        """Status, and the whole reply, accumulated if it is a stream."""
        async with client.http.post(
            f"{client.origin}{self.path}",
            data=io.BytesIO(orjson.dumps(body)),
            headers={"Authorization": f"Bearer {client.session.key}", **headers},
        ) as response:
            raw = await response.read()
            if response.content_type == "text/event-stream":
                return response.status, self.accumulate(read_events(raw))
            return response.status, json.loads(raw)

    async def say(self, client: Client, body: Wire, **headers: str) -> Said:
        status, reply = await self.post(client, body, **headers)
        assert status == 200, reply
        return self.said(reply)

    def __str__(self) -> str:
        return self.name


def _object(raw: str) -> Any:
    try:
        return json.loads(raw)
    except (ValueError, RecursionError):
        return raw


# --- Chat Completions ----------------------------------------------------------------------------


def _chat_ask(text: str = "go", *, tools: bool = True, **more: Any) -> Wire:
    function = {"name": "bash", "parameters": SCHEMA}
    return {
        "model": "m",
        "messages": [{"role": "user", "content": text}],
        **({"tools": [{"type": "function", "function": function}]} if tools else {}),
        **more,
    }


def _chat_accumulate(events: list[tuple[str, str]]) -> Wire:
    from tests.core.gateway.conftest import accumulate

    return accumulate([data if data == "[DONE]" else json.loads(data) for _, data in events])


def _chat_said(reply: Wire) -> Said:
    (choice,) = reply["choices"]
    message = choice["message"]
    calls = [
        (c["id"], c["function"]["name"], _object(c["function"]["arguments"]))
        for c in message.get("tool_calls", ())
    ]
    return Said(message["content"], calls, choice["finish_reason"])


def _chat_continued(body: Wire, reply: Wire, result: str) -> Wire:
    message = reply["choices"][0]["message"]
    results = [
        {"role": "tool", "tool_call_id": call["id"], "content": result}
        for call in message.get("tool_calls", ())
    ] or [{"role": "user", "content": result}]
    return {**body, "messages": [*body["messages"], message, *results]}


# --- Anthropic Messages --------------------------------------------------------------------------


def _messages_ask(text: str = "go", *, tools: bool = True, **more: Any) -> Wire:
    return {
        "model": "m",
        "max_tokens": 1000,
        "messages": [{"role": "user", "content": text}],
        **({"tools": [{"name": "bash", "input_schema": SCHEMA}]} if tools else {}),
        **more,
    }


def _messages_accumulate(events: list[tuple[str, str]]) -> Wire:
    message: Wire = {}
    block: Wire = {}
    raw = ""
    ended = False
    for name, data in events:
        event: Wire = json.loads(data)
        kind = event["type"]
        assert name == kind and not ended
        if kind == "message_start":
            assert not message
            message = event["message"]
            assert message["content"] == [] and message["stop_reason"] is None
        elif kind == "content_block_start":
            assert not block and event["index"] == len(message["content"])
            block, raw = event["content_block"], ""
        elif kind == "content_block_delta":
            assert block and event["index"] == len(message["content"])
            delta = event["delta"]
            match delta["type"]:
                case "text_delta":
                    block["text"] += delta["text"]
                case "thinking_delta":
                    block["thinking"] += delta["thinking"]
                case "signature_delta":
                    block["signature"] += delta["signature"]
                case "input_json_delta":
                    raw += delta["partial_json"]
                case other:
                    raise AssertionError(other)
        elif kind == "content_block_stop":
            if block["type"] == "tool_use":
                assert block["input"] == {}
                block["input"] = json.loads(raw)
            message["content"].append(block)
            block = {}
        elif kind == "message_delta":
            assert not block and message["stop_reason"] is None
            message.update(event["delta"])
            message["usage"].update(event["usage"])
        elif kind == "message_stop":
            ended = True
        elif kind == "error":
            return event
        else:
            assert kind == "ping"
    assert ended
    return message


def _messages_said(reply: Wire) -> Said:
    texts = [block["text"] for block in reply["content"] if block["type"] == "text"]
    calls = [
        (block["id"], block["name"], block["input"].get("malformed_arguments", block["input"]))
        for block in reply["content"]
        if block["type"] == "tool_use"
    ]
    finish = {"end_turn": "stop", "tool_use": "tool_calls", "max_tokens": "length"}
    return Said("".join(texts) or None, calls, finish[reply["stop_reason"]])


def _messages_continued(body: Wire, reply: Wire, result: str) -> Wire:
    results = [
        {"type": "tool_result", "tool_use_id": block["id"], "content": result}
        for block in reply["content"]
        if block["type"] == "tool_use"
    ] or [{"type": "text", "text": result}]
    history = [
        *body["messages"],
        {"role": "assistant", "content": reply["content"]},
        {"role": "user", "content": results},
    ]
    return {**body, "messages": history}


# --- OpenAI Responses ----------------------------------------------------------------------------


def _responses_ask(text: str = "go", *, tools: bool = True, **more: Any) -> Wire:
    return {
        "model": "m",
        "input": [{"role": "user", "content": text}],
        **(
            {"tools": [{"type": "function", "name": "bash", "parameters": SCHEMA}]} if tools else {}
        ),
        **more,
    }


def _responses_accumulate(events: list[tuple[str, str]]) -> Wire:
    items: list[Wire] = []
    open_: Wire = {}
    final: Wire = {}
    for number, (name, data) in enumerate(events):
        event = json.loads(data)
        kind = event["type"]
        assert name == kind and not final
        assert event["sequence_number"] == number
        if number == 0:
            assert kind == "response.created"
        if "output_index" in event:
            assert event["output_index"] == len(items)
        if "item_id" in event:
            assert event["item_id"] == open_["id"]
        match kind.removeprefix("response."):
            case "created" | "in_progress":
                assert event["response"]["status"] == "in_progress"
            case "output_item.added":
                assert not open_ and event["item"]["status"] == "in_progress"
                open_ = event["item"]
            case "content_part.added":
                open_["content"].append(event["part"])
            case "output_text.delta":
                open_["content"][-1]["text"] += event["delta"]
            case "output_text.done":
                assert open_["content"][-1]["text"] == event["text"]
            case "content_part.done":
                assert open_["content"][-1] == event["part"]
            case "reasoning_summary_part.added":
                open_["summary"].append(event["part"])
            case "reasoning_summary_text.delta":
                open_["summary"][-1]["text"] += event["delta"]
            case "reasoning_summary_text.done":
                assert open_["summary"][-1]["text"] == event["text"]
            case "reasoning_summary_part.done":
                assert open_["summary"][-1] == event["part"]
            case "function_call_arguments.delta":
                open_["arguments"] += event["delta"]
            case "function_call_arguments.done":
                assert open_["arguments"] == event["arguments"]
                assert open_["name"] == event["name"]
            case "custom_tool_call_input.delta":
                open_["input"] += event["delta"]
            case "custom_tool_call_input.done":
                assert open_["input"] == event["input"]
            case "output_item.done":
                closed = event["item"]
                del open_["status"]
                assert open_ == {k: v for k, v in closed.items() if k != "status"}
                items.append(closed)
                open_ = {}
            case "completed" | "incomplete" | "failed":
                final = event["response"]
                assert kind == f"response.{final['status']}"
            case other:
                raise AssertionError(other)
    assert final and not open_
    assert final["output"] == items
    return final


def _responses_said(reply: Wire) -> Said:
    texts = [
        part["text"]
        for item in reply["output"]
        if item["type"] == "message"
        for part in item["content"]
    ]
    calls = [
        (item["call_id"], item["name"], _object(item["arguments"]))
        for item in reply["output"]
        if item["type"] == "function_call"
    ]
    if reply["status"] == "incomplete":
        assert reply["incomplete_details"] == {"reason": "max_output_tokens"}
        return Said("".join(texts) or None, calls, "length")
    return Said("".join(texts) or None, calls, "tool_calls" if calls else "stop")


def _responses_continued(body: Wire, reply: Wire, result: str) -> Wire:
    results = [
        {"type": "function_call_output", "call_id": item["call_id"], "output": result}
        for item in reply["output"]
        if item["type"] == "function_call"
    ] or [{"role": "user", "content": result}]
    return {**body, "input": [*body["input"], *reply["output"], *results]}


CHAT = Dialect(
    "chat",
    "/v1/chat/completions",
    b'"finish_reason":"stop"',
    _chat_ask,
    _chat_accumulate,
    _chat_said,
    _chat_continued,
)
MESSAGES = Dialect(
    "messages",
    "/v1/messages",
    b'"message_stop"',
    _messages_ask,
    _messages_accumulate,
    _messages_said,
    _messages_continued,
)
RESPONSES = Dialect(
    "responses",
    "/v1/responses",
    b'"response.completed"',
    _responses_ask,
    _responses_accumulate,
    _responses_said,
    _responses_continued,
)
DIALECTS = [CHAT, MESSAGES, RESPONSES]
