"""Replies in the OpenAI Responses dialect. Ids and logprobs come as extra fields."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from harness_adapters.serve.scripted.sample import Sample, frame, pieces


def whole(sample: Sample) -> dict[str, Any]:
    """A reply in one piece."""
    return _response(sample, "completed", [_ended(item) for item in _items(sample)])


def stream(sample: Sample) -> Iterator[bytes]:
    """The same reply as events, with the whole life of each item and increasing numbers."""
    for number, (kind, fields) in enumerate(_events(sample)):
        yield frame({"type": kind, "sequence_number": number, **fields}, kind)


def _events(sample: Sample) -> Iterator[tuple[str, dict[str, Any]]]:
    yield "response.created", {"response": _response(sample, "in_progress", [])}
    yield "response.in_progress", {"response": _response(sample, "in_progress", [])}
    for index, item in enumerate(_items(sample)):
        life = _text_life if item["type"] == "message" else _call_life
        yield "response.output_item.added", {"output_index": index, "item": _begun(item)}
        yield from life(index, item)
        yield "response.output_item.done", {"output_index": index, "item": _ended(item)}
    yield "response.completed", {"response": whole(sample)}


def _text_life(index: int, item: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    place = {"item_id": item["id"], "output_index": index, "content_index": 0}
    part = item["content"][0]
    yield "response.content_part.added", place | {"part": part | {"text": ""}}
    for piece in pieces(part["text"]):
        yield "response.output_text.delta", place | {"delta": piece, "logprobs": []}
    yield "response.output_text.done", place | {"text": part["text"], "logprobs": []}
    yield "response.content_part.done", place | {"part": part}


def _call_life(index: int, item: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    place = {"item_id": item["id"], "output_index": index}
    for piece in pieces(item["arguments"]):
        yield "response.function_call_arguments.delta", place | {"delta": piece}
    yield (
        "response.function_call_arguments.done",
        place | {"name": item["name"], "arguments": item["arguments"]},
    )


def _items(sample: Sample) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    if sample.text:
        part = {"type": "output_text", "text": sample.text, "annotations": [], "logprobs": []}
        items.append(
            {"type": "message", "id": f"msg_{sample.id}", "role": "assistant", "content": [part]}
        )
    for number, call in enumerate(sample.calls):
        items.append(
            {
                "type": "function_call",
                "id": f"fc_{sample.id}_{number}",
                "call_id": call.id,
                "name": call.name,
                "arguments": call.arguments,
            }
        )
    return items


def _begun(item: dict[str, Any]) -> dict[str, Any]:
    empty: dict[str, Any] = {"content": []} if item["type"] == "message" else {"arguments": ""}
    return item | empty | {"status": "in_progress"}


def _ended(item: dict[str, Any]) -> dict[str, Any]:
    return item | {"status": "completed"}


def _response(sample: Sample, status: str, output: list[dict[str, Any]]) -> dict[str, Any]:
    response: dict[str, Any] = {
        "id": f"resp_{sample.id}",
        "object": "response",
        "created_at": sample.created,
        "status": status,
        "model": sample.model,
        "output": output,
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "metadata": {},
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "temperature": sample.temperature,
        "top_p": 1.0,
        "usage": None,
    }
    if status == "completed":
        response |= sample.extras()
        response["usage"] = {
            "input_tokens": len(sample.prompt),
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": len(sample.ids),
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": len(sample.prompt) + len(sample.ids),
        }
    return response
