"""Answers in vLLM's shapes."""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping, Sequence
from typing import Any

from harness_adapters.serve.embedded.lora import Adapter
from harness_adapters.serve.embedded.prompts import Prompts
from harness_adapters.serve.embedded.scheduler import Request
from harness_adapters.serve.embedded.tool_calls import Parsed

Json = dict[str, Any]


def chat(
    request: Request,
    reply: Parsed,
    prompts: Prompts,
    *,
    model: str,
    logprobs: bool,
    ids: bool,
    stop: str | None,
) -> Json:
    message = {
        "role": "assistant",
        "content": reply.text or None if reply.calls else reply.text,
        "refusal": None,
        "reasoning": None,
        "tool_calls": [
            {
                "id": f"chatcmpl-tool-{secrets.token_hex(8)}",
                "type": "function",
                "function": {"name": call.name, "arguments": call.arguments},
            }
            for call in reply.calls
        ],
    }
    # A reply that was cut off says so, calls or not.
    whole = request.finish == "stop" and bool(reply.calls)
    choice = {
        "index": 0,
        "message": message,
        "logprobs": {"content": _entries(request, prompts)} if logprobs else None,
        "finish_reason": "tool_calls" if whole else request.finish,
        "stop_reason": stop,
        "token_ids": request.ids if ids else None,
    }
    return _head("chatcmpl", "chat.completion", model) | {
        "choices": [choice],
        "usage": _usage(request),
        "prompt_logprobs": None,
        "prompt_token_ids": request.prompt.tolist() if ids else None,
    }


def text(
    request: Request,
    said: str,
    prompts: Prompts,
    *,
    model: str,
    logprobs: bool,
    ids: bool,
    stop: str | None,
    prompt_logprobs: Sequence[float] | None,
) -> Json:
    choice: Json = {
        "index": 0,
        "text": said,
        "logprobs": None,
        "finish_reason": request.finish,
        "stop_reason": stop,
        "token_ids": request.ids if ids else None,
        "prompt_token_ids": request.prompt.tolist() if ids else None,
        "prompt_logprobs": None,
    }
    if logprobs:
        choice["logprobs"] = {
            "tokens": [prompts.piece(id) for id in request.ids],
            "token_logprobs": request.logprobs,
            "top_logprobs": None,
            "text_offset": [],
        }
    if prompt_logprobs is not None:
        after = zip(request.prompt[1:].tolist(), prompt_logprobs, strict=True)
        choice["prompt_logprobs"] = [
            None,
            *(
                {str(id): {"logprob": value, "rank": None, "decoded_token": prompts.piece(id)}}
                for id, value in after
            ),
        ]
    return _head("cmpl", "text_completion", model) | {"choices": [choice], "usage": _usage(request)}


def models(base: str, root: str, context: int, adapters: Mapping[str, Adapter]) -> Json:
    def card(id: str, root: str, parent: str | None, length: int | None) -> Json:
        return {
            "id": id,
            "object": "model",
            "created": 0,
            "owned_by": "harness-adapters",
            "root": root,
            "parent": parent,
            "max_model_len": length,
        }

    cards = [card(base, root, None, context)]
    cards += [card(name, adapter.path, base, None) for name, adapter in adapters.items()]
    return {"object": "list", "data": cards}


def error(message: str, status: int) -> Json:
    kind = {404: "NotFoundError", 400: "BadRequestError"}.get(status, "InternalServerError")
    return {"error": {"message": message, "type": kind, "param": None, "code": status}}


def _entries(request: Request, prompts: Prompts) -> list[Json]:
    return [
        {
            "token": piece,
            "logprob": value,
            "bytes": list(piece.encode("utf-8", "replace")),
            "top_logprobs": [],
        }
        for piece, value in zip(map(prompts.piece, request.ids), request.logprobs, strict=True)
    ]


def _head(prefix: str, kind: str, model: str) -> Json:
    return {
        "id": f"{prefix}-{secrets.token_hex(12)}",
        "object": kind,
        "created": int(time.time()),
        "model": model,
    }


def _usage(request: Request) -> Json:
    return {
        "prompt_tokens": len(request.prompt),
        "completion_tokens": len(request.ids),
        "total_tokens": len(request.prompt) + len(request.ids),
        "prompt_tokens_details": {"cached_tokens": request.reused},
    }
