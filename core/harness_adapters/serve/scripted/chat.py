"""Replies in the Chat Completions dialect, with the fields vLLM adds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from harness_adapters.serve.scripted.sample import Sample, frame, pieces


def whole(sample: Sample) -> dict[str, Any]:
    """A reply in one piece."""
    message = {
        "role": "assistant",
        "content": sample.text or None,
        "refusal": None,
        "reasoning": None,
        "tool_calls": [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": call.arguments},
            }
            for call in sample.calls
        ],
    }
    return {
        "id": f"chatcmpl-{sample.id}",
        "object": "chat.completion",
        "created": sample.created,
        "model": sample.model,
        "choices": [
            {
                "index": 0,
                "message": message,
                "logprobs": {"content": sample.logprobs()} if sample.return_logprobs else None,
                "finish_reason": _finish(sample),
                "stop_reason": None,
                "token_ids": sample.ids.tolist() if sample.return_ids else None,
            }
        ],
        "usage": _usage(sample),
        "prompt_logprobs": None,
        "prompt_token_ids": sample.prompt.tolist() if sample.return_ids else None,
    }


def stream(sample: Sample, *, include_usage: bool) -> Iterator[bytes]:
    """The same reply as events. Ids and logprobs are spread over the chunks in order."""
    deltas = _deltas(sample)
    entries = sample.logprobs() if sample.return_logprobs else None
    yield _chunk(
        sample,
        {"role": "assistant", "content": ""},
        prompt_token_ids=sample.prompt.tolist() if sample.return_ids else None,
    )
    for place, delta in enumerate(deltas):
        share = slice(*(len(sample.ids) * edge // len(deltas) for edge in (place, place + 1)))
        yield _chunk(
            sample,
            delta,
            finish_reason=_finish(sample) if place + 1 == len(deltas) else None,
            token_ids=sample.ids[share].tolist() if sample.return_ids else None,
            logprobs={"content": entries[share]} if entries is not None else None,
        )
    if include_usage:
        yield frame(_head(sample) | {"choices": [], "usage": _usage(sample)})
    yield b"data: [DONE]\n\n"


def _deltas(sample: Sample) -> list[dict[str, Any]]:
    """Text, then per call its head and its arguments; the last delta is empty and ends it."""
    deltas: list[dict[str, Any]] = [{"content": piece} for piece in pieces(sample.text)]
    for index, call in enumerate(sample.calls):
        head = {"name": call.name, "arguments": ""}
        deltas.append(
            {"tool_calls": [{"index": index, "id": call.id, "type": "function", "function": head}]}
        )
        deltas += [
            {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}
            for piece in pieces(call.arguments)
        ]
    return [*deltas, {}]


def _chunk(
    sample: Sample,
    delta: dict[str, Any],
    *,
    finish_reason: str | None = None,
    token_ids: list[int] | None = None,
    logprobs: dict[str, Any] | None = None,
    prompt_token_ids: list[int] | None = None,
) -> bytes:
    choice = {
        "index": 0,
        "delta": delta,
        "logprobs": logprobs,
        "finish_reason": finish_reason,
        "token_ids": token_ids,
    }
    chunk = _head(sample) | {"choices": [choice]}
    if prompt_token_ids is not None:
        chunk["prompt_token_ids"] = prompt_token_ids
    return frame(chunk)


def _head(sample: Sample) -> dict[str, Any]:
    return {
        "id": f"chatcmpl-{sample.id}",
        "object": "chat.completion.chunk",
        "created": sample.created,
        "model": sample.model,
    }


def _finish(sample: Sample) -> str:
    return "tool_calls" if sample.calls else "stop"


def _usage(sample: Sample) -> dict[str, Any]:
    return {
        "prompt_tokens": len(sample.prompt),
        "completion_tokens": len(sample.ids),
        "total_tokens": len(sample.prompt) + len(sample.ids),
        "prompt_tokens_details": None,
    }
