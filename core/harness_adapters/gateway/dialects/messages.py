"""Anthropic Messages, as Claude Code speaks it."""

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
from harness_adapters.gateway.dialects.messages_request import read_messages
from harness_adapters.gateway.dialects.sse import event
from harness_adapters.gateway.failures import WireError
from harness_adapters.gateway.guard.strict_json import strict_object

# This wire carries a call's arguments as an object. Text that is none goes as the one member of an
# object that no tool declares, so that every client refuses the same call, and repairs nothing.
MALFORMED = "malformed_arguments"

STOP_REASONS = {
    "stop": "end_turn",
    "tool_calls": "tool_use",
    "length": "max_tokens",
    "content_filter": "refusal",
}
ERROR_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    422: "invalid_request_error",
    429: "rate_limit_error",
    504: "timeout_error",
    529: "overloaded_error",
}
# Clients keep thinking only with a signature. Nothing here signs or verifies one.
SIGNATURE = "unsigned"
BYTES_PER_TOKEN = 3
TOKENS_PER_MESSAGE = 4


class MessagesDialect:
    """Reads and writes ``/v1/messages``."""

    id_prefix = "msg_"

    def read(self, body: bytes) -> ModelRequest:
        return read_messages(parse_object(body))

    def count_tokens(self, body: bytes) -> bytes:
        """The answer to ``/v1/messages/count_tokens``: an estimate, and marked as one.

        Only the engine has the tokenizer and the template, and it is asked once per turn and for
        nothing else. So this counts bytes, on the high side for English and code.

        :raises Refused: the request is malformed.
        """
        request = read_messages(parse_object(body))
        size = sum(len(orjson.dumps(message)) for message in request.messages)
        size += sum(len(orjson.dumps(tool)) for tool in request.tools.values())
        tokens = -(-size // BYTES_PER_TOKEN) + TOKENS_PER_MESSAGE * len(request.messages)
        return orjson.dumps({"input_tokens": tokens, "estimated": True})

    def whole(self, request: ModelRequest, reply: ModelReply) -> bytes:
        return orjson.dumps(
            {
                **_head(reply.envelope),
                "content": list(_blocks(reply)),
                **_end(reply),
                "usage": _usage(reply.usage),
            }
        )

    def stream_start(self, envelope: Envelope) -> bytes:
        message = {
            **_head(envelope),
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": _usage({}),
        }
        return event("message_start", message=message)

    def keep_alive(self, envelope: Envelope, *, waited: int) -> bytes:
        return event("ping")

    def stream_rest(self, request: ModelRequest, reply: ModelReply, *, waited: int) -> bytes:
        events: list[bytes] = []
        for index, block in enumerate(_blocks(reply)):
            events.extend(_life(index, block))
        # the usage here is that of the whole reply, and replaces the one at the start
        events.append(event("message_delta", delta=_end(reply), usage=_usage(reply.usage)))
        events.append(event("message_stop"))
        return b"".join(events)

    def error(self, error: WireError) -> bytes:
        return orjson.dumps(_error(error))

    def stream_error(self, envelope: Envelope, error: WireError, *, waited: int) -> bytes:
        return event("error", error=_error(error)["error"])


def _head(envelope: Envelope) -> dict[str, Any]:
    return {
        "id": envelope.id,
        "type": "message",
        "role": "assistant",
        "model": envelope.model,
    }


def _end(reply: ModelReply) -> dict[str, Any]:
    if reply.finish == "stop" and reply.stop_sequence is not None:
        return {"stop_reason": "stop_sequence", "stop_sequence": reply.stop_sequence}
    return {"stop_reason": STOP_REASONS[reply.finish], "stop_sequence": None}


def _usage(usage: Mapping[str, Any]) -> dict[str, int]:
    """Tokens read from a cache count apart here; in the engine's usage they are in the prompt."""
    cached = counted(usage, "prompt_tokens_details", "cached_tokens")
    return {
        "input_tokens": counted(usage, "prompt_tokens") - cached,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": cached,
        "output_tokens": counted(usage, "completion_tokens"),
    }


def _blocks(reply: ModelReply) -> Iterator[dict[str, Any]]:
    message = reply.message
    thinking = message.get("reasoning_content") or message.get("reasoning")
    if thinking:
        yield {"type": "thinking", "thinking": thinking, "signature": SIGNATURE}
    if message.get("content"):
        yield {"type": "text", "text": message["content"]}
    for call in message.get("tool_calls", ()):
        function = call["function"]
        yield {
            "type": "tool_use",
            "id": call["id"],
            "name": function["name"],
            "input": orjson.Fragment(_input(function["arguments"])),
        }


def _input(arguments: str) -> str:
    """The arguments byte for byte, if they are one strict object."""
    if strict_object(arguments) is not None:
        return arguments
    return orjson.dumps({MALFORMED: arguments}).decode()


def _life(index: int, block: dict[str, Any]) -> Iterator[bytes]:
    """The events of one content block."""
    match block:
        case {"type": "thinking"}:
            start: dict[str, Any] = {"type": "thinking", "thinking": "", "signature": ""}
            deltas = [
                {"type": "thinking_delta", "thinking": block["thinking"]},
                {"type": "signature_delta", "signature": block["signature"]},
            ]
        case {"type": "text"}:
            start = {"type": "text", "text": ""}
            deltas = [{"type": "text_delta", "text": block["text"]}]
        case _:
            start = {**block, "input": {}}
            raw = orjson.dumps(block["input"]).decode()
            deltas = [{"type": "input_json_delta", "partial_json": raw}]
    yield event("content_block_start", index=index, content_block=start)
    for delta in deltas:
        yield event("content_block_delta", index=index, delta=delta)
    yield event("content_block_stop", index=index)


def _error(error: WireError) -> dict[str, Any]:
    kind = ERROR_TYPES.get(error.status, "api_error")
    return {
        "type": "error",
        "error": {"type": kind, "message": str(error), "code": error.code},
    }
