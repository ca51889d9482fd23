"""OpenAI Responses, as Codex speaks it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import orjson

from harness_adapters.gateway.dialects.base import (
    Envelope,
    ModelReply,
    ModelRequest,
    counted,
    parse_object,
)
from harness_adapters.gateway.dialects.openai_errors import error_body
from harness_adapters.gateway.dialects.responses_request import read_responses
from harness_adapters.gateway.dialects.responses_tools import item_of_call
from harness_adapters.gateway.dialects.sse import event
from harness_adapters.gateway.failures import WireError

INCOMPLETE = {"length": "max_output_tokens", "content_filter": "content_filter"}
OPENING = ("response.created", "response.in_progress")

Event = tuple[str, dict[str, Any]]


class ResponsesDialect:
    """Reads and writes ``/v1/responses``."""

    id_prefix = "resp_"

    def read(self, body: bytes) -> ModelRequest:
        return read_responses(parse_object(body))

    def whole(self, request: ModelRequest, reply: ModelReply) -> bytes:
        return orjson.dumps(_finished(request, reply))

    def stream_start(self, envelope: Envelope) -> bytes:
        response = _response(envelope, "in_progress")
        return _numbered([(kind, {"response": response}) for kind in OPENING], 0)

    def keep_alive(self, envelope: Envelope, *, waited: int) -> bytes:
        response = _response(envelope, "in_progress")
        return _numbered([("response.in_progress", {"response": response})], len(OPENING) + waited)

    def stream_rest(self, request: ModelRequest, reply: ModelReply, *, waited: int) -> bytes:
        response = _finished(request, reply)
        events: list[Event] = []
        for index, item in enumerate(response["output"]):
            events += _life(index, item)
        events.append((f"response.{response['status']}", {"response": response}))
        return _numbered(events, len(OPENING) + waited)

    def error(self, error: WireError) -> bytes:
        return error_body(error)

    def stream_error(self, envelope: Envelope, error: WireError, *, waited: int) -> bytes:
        limited = error.status == 429
        code = "rate_limit_exceeded" if limited else "server_error"
        response = _response(envelope, "failed")
        response["error"] = {"code": code, "message": str(error)}
        return _numbered([("response.failed", {"response": response})], len(OPENING) + waited)


def _numbered(events: list[Event], first: int) -> bytes:
    return b"".join(
        event(kind, sequence_number=number, **fields)
        for number, (kind, fields) in enumerate(events, start=first)
    )


def _response(envelope: Envelope, status: str) -> dict[str, Any]:
    return {
        "id": envelope.id,
        "object": "response",
        "created_at": envelope.created,
        "status": status,
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "metadata": {},
        "model": envelope.model,
        "output": [],
        "parallel_tool_calls": True,
        "previous_response_id": None,
        "store": False,
        "tool_choice": "auto",
        "tools": [],
        "usage": None,
    }


def _finished(request: ModelRequest, reply: ModelReply) -> dict[str, Any]:
    reason = INCOMPLETE.get(reply.finish)
    response = _response(reply.envelope, "incomplete" if reason else "completed")
    response["incomplete_details"] = {"reason": reason} if reason else None
    response["output"] = list(_items(request, reply))
    response["usage"] = _usage(reply.usage)
    return response


def _items(request: ModelRequest, reply: ModelReply) -> Iterator[dict[str, Any]]:
    message, own = reply.message, reply.envelope.id.removeprefix(ResponsesDialect.id_prefix)
    reasoning = message.get("reasoning_content") or message.get("reasoning")
    if reasoning:
        # as a summary, since that is what clients send back with the next request
        summary = [{"type": "summary_text", "text": reasoning}]
        yield {"type": "reasoning", "id": f"rs_{own}", "status": "completed", "summary": summary}
    if message.get("content"):
        part = {"type": "output_text", "text": message["content"]}
        yield {
            "type": "message",
            "id": f"msg_{own}",
            "status": "completed",
            "role": "assistant",
            "content": [{**part, "annotations": [], "logprobs": []}],
        }
    for number, call in enumerate(message.get("tool_calls", ())):
        form = request.forms.get(call["function"]["name"])
        yield item_of_call(call, form, f"{own}_{number}")


def _usage(usage: Mapping[str, Any]) -> dict[str, Any]:
    prompt, completion = counted(usage, "prompt_tokens"), counted(usage, "completion_tokens")
    cached = counted(usage, "prompt_tokens_details", "cached_tokens")
    reasoning = counted(usage, "completion_tokens_details", "reasoning_tokens")
    return {
        "input_tokens": prompt,
        "input_tokens_details": {"cached_tokens": cached, "cache_write_tokens": 0},
        "output_tokens": completion,
        "output_tokens_details": {"reasoning_tokens": reasoning},
        "total_tokens": prompt + completion,
    }


def _life(index: int, item: dict[str, Any]) -> Iterator[Event]:
    """The events of one output item, from its start to its end."""
    begun: dict[str, Any] = {**item, "status": "in_progress"}
    place = {"item_id": item["id"], "output_index": index}
    inner: list[Event] = []
    match item["type"]:
        case "reasoning":
            begun["summary"] = []
            inner = list(_summary_life(place, item["summary"][0]))
        case "message":
            begun["content"] = []
            inner = list(_text_life(place, item["content"][0]))
        case "function_call":
            begun["arguments"] = ""
            kind, text = "response.function_call_arguments", item["arguments"]
            inner = [
                (f"{kind}.delta", {**place, "delta": text}),
                (f"{kind}.done", {**place, "name": item["name"], "arguments": text}),
            ]
        case "custom_tool_call":
            begun["input"] = ""
            kind, text = "response.custom_tool_call_input", item["input"]
            inner = [
                (f"{kind}.delta", {**place, "delta": text}),
                (f"{kind}.done", {**place, "input": text}),
            ]
    yield "response.output_item.added", {"output_index": index, "item": begun}
    yield from inner
    yield "response.output_item.done", {"output_index": index, "item": item}


def _text_life(place: Mapping[str, Any], part: dict[str, Any]) -> Iterator[Event]:
    place = {**place, "content_index": 0}
    yield "response.content_part.added", {**place, "part": {**part, "text": ""}}
    yield "response.output_text.delta", {**place, "delta": part["text"], "logprobs": []}
    yield "response.output_text.done", {**place, "text": part["text"], "logprobs": []}
    yield "response.content_part.done", {**place, "part": part}


def _summary_life(place: Mapping[str, Any], part: dict[str, Any]) -> Iterator[Event]:
    place = {**place, "summary_index": 0}
    kind = "response.reasoning_summary"
    yield f"{kind}_part.added", {**place, "part": {**part, "text": ""}}
    yield f"{kind}_text.delta", {**place, "delta": part["text"]}
    yield f"{kind}_text.done", {**place, "text": part["text"]}
    yield f"{kind}_part.done", {**place, "part": part}
