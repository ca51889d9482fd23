"""The engine's side: Chat Completions as it is asked for, and as it is read.

A request carries the session's sampling and nothing of the harness's. A reply is read into text,
reasoning and sampled calls; fields that are not read here do not reach a harness.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from harness_adapters.gateway.dialects.base import ModelRequest
from harness_adapters.gateway.failures import UpstreamError
from harness_adapters.types import Limits, Sampling

REASONING = ("reasoning_content", "reasoning")


@dataclass(frozen=True, slots=True, kw_only=True)
class SampledCall:
    """A tool call as the engine parsed it; ``arguments`` is raw text."""

    id: str
    name: str
    arguments: str

    def wire(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "type": "function",
            "function": {"name": self.name, "arguments": self.arguments},
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """What one engine reply says.

    :param reasoning: the reasoning fields that the engine filled, by their wire names.
    :param usage: as sent, without null members, which kill some harnesses.
    :param stop_sequence: the text of the request's ``stop`` that ended it, if one did.
    """

    content: str | None
    calls: tuple[SampledCall, ...]
    finish: str
    reasoning: Mapping[str, str] = field(default_factory=dict[str, str])
    usage: Mapping[str, Any] = field(default_factory=dict[str, Any])
    stop_sequence: str | None = None


def engine_body(request: ModelRequest, *, model: str, sampling: Sampling, limits: Limits) -> bytes:
    """The request for the engine: pinned model and sampling, buffered, with token ids."""
    body: dict[str, Any] = {
        **request.options,
        "model": model,
        "messages": request.messages,
        "max_tokens": min(request.max_tokens or limits.max_output_tokens, limits.max_output_tokens),
        "temperature": sampling.temperature,
        "top_p": sampling.top_p,
        "top_k": sampling.top_k,
        "min_p": sampling.min_p,
        "stream": False,
        "return_token_ids": True,
        "logprobs": True,
        "top_logprobs": 0,
    }
    if sampling.seed is not None:
        body["seed"] = sampling.seed
    if request.tools:
        body["tools"] = list(request.tools.values())
    return orjson.dumps(body)


def the_choice(reply: Mapping[str, Any]) -> Mapping[str, Any]:
    """The one choice of an engine's reply.

    :raises UpstreamError: there is none.
    """
    choices = reply.get("choices")
    if not isinstance(choices, list) or len(choices) != 1 or not isinstance(choices[0], dict):
        raise UpstreamError("the engine's reply must have exactly one choice")
    return choices[0]


def read_completion(reply: Mapping[str, Any]) -> Completion:
    """:raises UpstreamError: it is not shaped like a chat completion, or was cut by the engine."""
    choice = the_choice(reply)
    message = choice.get("message")
    if not isinstance(message, dict):
        raise UpstreamError("the engine's reply has no message")
    content = message.get("content")
    if content is not None and not isinstance(content, str):
        raise UpstreamError("the engine's message content is no text")
    finish = choice.get("finish_reason")
    if finish not in ("stop", "tool_calls", "length", "content_filter"):
        # "abort" and the like: a cut must never read as an end
        raise UpstreamError(f"the engine ended with {finish!r}", status=503)
    return Completion(
        content=content,
        calls=_calls(message.get("tool_calls")),
        finish=finish,
        reasoning={
            name: value
            for name in REASONING
            if isinstance(value := message.get(name), str) and value
        },
        usage=_usage(reply.get("usage")),
        stop_sequence=stop if isinstance(stop := choice.get("stop_reason"), str) else None,
    )


def _calls(listed: object) -> tuple[SampledCall, ...]:
    if listed is None:
        return ()
    if not isinstance(listed, list):
        raise UpstreamError("the engine's tool calls are no list")
    calls: list[SampledCall] = []
    seen: set[str] = set()
    for entry in listed:
        function = entry.get("function") if isinstance(entry, dict) else None
        if not isinstance(function, dict):
            raise UpstreamError("the engine's reply holds a tool call that is no function call")
        id = entry.get("id")
        if not isinstance(id, str) or not id or id in seen:
            id = f"call_{secrets.token_hex(12)}"
        seen.add(id)
        name = function.get("name")
        calls.append(
            SampledCall(
                id=id,
                name=name if isinstance(name, str) else "",
                arguments=_arguments(function.get("arguments")),
            )
        )
    return tuple(calls)


def _arguments(sent: object) -> str:
    """Raw text; engines leave it out for tools without parameters, or send the parsed object."""
    if isinstance(sent, str):
        return sent if sent.strip() else "{}"
    return "{}" if sent is None else orjson.dumps(sent).decode()


def _usage(sent: object) -> dict[str, Any]:
    if not isinstance(sent, dict):
        return {}
    return {
        name: _usage(value) if isinstance(value, dict) else value
        for name, value in sent.items()
        if value is not None
    }
