"""OpenAI Chat Completions, as harnesses speak it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from harness_adapters.gateway.dialects.base import (
    Envelope,
    ModelReply,
    ModelRequest,
    parse_object,
)
from harness_adapters.gateway.dialects.chat_request import read_chat_messages, read_chat_tools
from harness_adapters.gateway.dialects.checks import check_options, positive, text_field
from harness_adapters.gateway.dialects.dropped import (
    CACHE,
    NO_MEANING,
    PINNED,
    note_dropped_fields,
)
from harness_adapters.gateway.dialects.openai_errors import error_body, error_object
from harness_adapters.gateway.failures import Refused, WireError

# Go to the engine as they are.
PASSED = ("stop", "chat_template_kwargs", "reasoning_effort")

READ = frozenset(
    {"model", "messages", "tools", "tool_choice", "parallel_tool_calls", "n", "response_format"}
    | {"max_tokens", "max_completion_tokens", "stream", "stream_options", *PASSED}
)
DROPPED = {
    **dict.fromkeys(("temperature", "top_p", "top_k", "min_p", "seed"), PINNED),
    **dict.fromkeys(("frequency_penalty", "presence_penalty", "repetition_penalty"), PINNED),
    **dict.fromkeys(("store", "metadata", "user", "service_tier"), NO_MEANING),
    **dict.fromkeys(("safety_identifier", "verbosity", "web_search_options"), NO_MEANING),
    **dict.fromkeys(("logprobs", "top_logprobs"), "the gateway asks for what it captures"),
    **dict.fromkeys(("prompt_cache_key", "prompt_cache_retention"), CACHE),
}

# Change which ids can be sampled, so that the captured logprobs would not be the policy's own, or
# carry calls in a form that the guard does not read.
REFUSED = (
    "logit_bias",
    "logits_processors",
    "allowed_token_ids",
    "bad_words",
    "guided_json",
    "guided_regex",
    "guided_choice",
    "guided_grammar",
    "structured_outputs",
    "structural_tag",
    "use_beam_search",
    "functions",
    "function_call",
)


class ChatDialect:
    """Reads and writes ``/v1/chat/completions``."""

    id_prefix = "chatcmpl-"

    def read(self, body: bytes) -> ModelRequest:
        wire = parse_object(body)
        for name in REFUSED:
            if wire.get(name):
                raise Refused(f"{name!r} is not served here", code="unsupported_parameter")
        if wire.get("n") not in (None, 1):
            raise Refused("only n = 1 is served here", code="unsupported_parameter")
        response_format = wire.get("response_format")
        if response_format is not None and response_format != {"type": "text"}:
            raise Refused("'response_format' is not served here", code="unsupported_parameter")
        note_dropped_fields(wire, read=READ, reasons=DROPPED)

        stream = wire.get("stream") is True
        stream_options = wire.get("stream_options")
        return ModelRequest(
            model=text_field(wire, "model"),
            messages=read_chat_messages(wire),
            tools=(tools := read_chat_tools(wire)),
            options=_options(wire, tools),
            max_tokens=positive(
                wire,
                "max_tokens"
                if wire.get("max_completion_tokens") is None
                else "max_completion_tokens",
            ),
            stream=stream,
            include_usage=stream
            and isinstance(stream_options, dict)
            and stream_options.get("include_usage") is True,
        )

    def whole(self, request: ModelRequest, reply: ModelReply) -> bytes:
        wire: dict[str, Any] = {
            "id": reply.envelope.id,
            "object": "chat.completion",
            "created": reply.envelope.created,
            "model": reply.envelope.model,
            "choices": [
                {
                    "index": 0,
                    "message": reply.message,
                    "logprobs": None,
                    "finish_reason": reply.finish,
                }
            ],
        }
        if reply.usage:
            wire["usage"] = reply.usage
        return orjson.dumps(wire)

    def stream_start(self, envelope: Envelope) -> bytes:
        return _chunk(envelope, {"role": "assistant"})

    def keep_alive(self, envelope: Envelope, *, waited: int) -> bytes:
        return _chunk(envelope, {})

    def stream_rest(self, request: ModelRequest, reply: ModelReply, *, waited: int) -> bytes:
        envelope, events = reply.envelope, []
        for name, value in reply.message.items():
            if name not in ("role", "tool_calls") and value is not None:
                events.append(_chunk(envelope, {name: value}))
        for index, call in enumerate(reply.message.get("tool_calls", ())):
            events.append(_chunk(envelope, {"tool_calls": [{"index": index, **call}]}))
        events.append(_chunk(envelope, {}, finish=reply.finish))
        if request.include_usage and reply.usage:
            events.append(_event({**_head(envelope), "choices": [], "usage": reply.usage}))
        events.append(b"data: [DONE]\n\n")
        return b"".join(events)

    def error(self, error: WireError) -> bytes:
        return error_body(error)

    def stream_error(self, envelope: Envelope, error: WireError, *, waited: int) -> bytes:
        # Harnesses look for a status in the text, to see whether to try again: the response's own
        # is 200 by now. There is no [DONE]: a cut must not read as an end.
        return _event(error_object(error, f"{error.status}: {error}"))


def _options(wire: Mapping[str, Any], tools: Mapping[str, Any]) -> dict[str, Any]:
    options = {name: wire[name] for name in PASSED if wire.get(name) is not None}
    choice = wire.get("tool_choice")
    if choice not in (None, "auto", "none"):
        raise Refused("a forced 'tool_choice' is not served here", code="unsupported_parameter")
    if tools:  # engines answer 400 to either of these without tools
        for name in ("tool_choice", "parallel_tool_calls"):
            if wire.get(name) is not None:
                options[name] = wire[name]
    check_options(options)
    return options


def _head(envelope: Envelope) -> dict[str, Any]:
    return {
        "id": envelope.id,
        "object": "chat.completion.chunk",
        "created": envelope.created,
        "model": envelope.model,
    }


def _chunk(envelope: Envelope, delta: Mapping[str, Any], *, finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
    return _event({**_head(envelope), "choices": [choice]})


def _event(data: Mapping[str, Any]) -> bytes:
    return b"data: " + orjson.dumps(data) + b"\n\n"
