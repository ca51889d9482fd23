"""Replies in the Anthropic Messages dialect. Ids and logprobs come as extra fields."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson

from harness_adapters.serve.scripted.sample import Sample, frame, pieces


def whole(sample: Sample) -> dict[str, Any]:
    """A reply in one piece. Arguments that are no JSON object become ``{}``: this wire carries
    objects, and only its stream can carry what a model breaks."""
    blocks: list[dict[str, Any]] = []
    if sample.text:
        blocks.append({"type": "text", "text": sample.text})
    for call in sample.calls:
        blocks.append(
            {"type": "tool_use", "id": call.id, "name": call.name, "input": _object(call.arguments)}
        )
    return (
        _message(sample)
        | {"content": blocks, "stop_reason": _stop(sample), "usage": _usage(sample)}
        | sample.extras()
    )


def stream(sample: Sample) -> Iterator[bytes]:
    """The same reply as events."""
    opening = _message(sample) | {"usage": _usage(sample) | {"output_tokens": 1}}
    yield _event("message_start", message=opening)
    yield _event("ping")
    index = 0
    if sample.text:
        yield from _block(index, {"type": "text", "text": ""}, "text_delta", "text", sample.text)
        index += 1
    for call in sample.calls:
        start = {"type": "tool_use", "id": call.id, "name": call.name, "input": {}}
        yield from _block(index, start, "input_json_delta", "partial_json", call.arguments)
        index += 1
    yield _event(
        "message_delta",
        delta={"stop_reason": _stop(sample), "stop_sequence": None},
        usage={"output_tokens": len(sample.ids)},
        **sample.extras(),
    )
    yield _event("message_stop")


def _block(index: int, start: dict[str, Any], kind: str, field: str, text: str) -> Iterator[bytes]:
    yield _event("content_block_start", index=index, content_block=start)
    for piece in pieces(text):
        yield _event("content_block_delta", index=index, delta={"type": kind, field: piece})
    yield _event("content_block_stop", index=index)


def _event(kind: str, **fields: Any) -> bytes:
    return frame({"type": kind, **fields}, kind)


def _message(sample: Sample) -> dict[str, Any]:
    return {
        "id": f"msg_{sample.id}",
        "type": "message",
        "role": "assistant",
        "model": sample.model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
    }


def _stop(sample: Sample) -> str:
    return "tool_use" if sample.calls else "end_turn"


def _usage(sample: Sample) -> dict[str, int]:
    return {"input_tokens": len(sample.prompt), "output_tokens": len(sample.ids)}


def _object(arguments: str) -> dict[str, Any]:
    try:
        value = orjson.loads(arguments)
    except orjson.JSONDecodeError:
        return {}
    return value if isinstance(value, dict) else {}
