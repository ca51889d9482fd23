"""The engine of a benchmark: an OpenAI-compatible server that costs as little as it can.

``python -m harness_adapters.bench.engine``. It answers with token ids and logprobs as vLLM does,
from a fixed rule instead of a model (see ``words``).
"""

from __future__ import annotations

from typing import Any

import orjson
from aiohttp import web

from harness_adapters.bench.child import serve_app
from harness_adapters.bench.words import answer, prompt_ids, sampled_ids

STREAMED_PIECES = 40
MAX_BODY_BYTES = 1 << 28


async def chat(request: web.Request) -> web.StreamResponse:
    body = orjson.loads(await request.read())
    messages = body["messages"]
    said = answer(str(messages[-1].get("content")))
    prompt, sampled = prompt_ids(messages), sampled_ids(said)
    if body.get("stream"):
        return await _stream(request, body, said, prompt, sampled)
    choice: dict[str, Any] = {"index": 0, "message": said, "finish_reason": "tool_calls"}
    reply: dict[str, Any] = {
        "id": "chatcmpl-bench",
        "object": "chat.completion",
        "created": 1,
        "model": body["model"],
        "choices": [choice],
        "usage": {
            "prompt_tokens": len(prompt),
            "completion_tokens": len(sampled),
            "total_tokens": len(prompt) + len(sampled),
        },
    }
    if body.get("return_token_ids"):
        reply["prompt_token_ids"] = prompt
        choice["token_ids"] = sampled
    if body.get("logprobs"):
        choice["logprobs"] = {
            "content": [
                {"token": f"token_id:{id}", "logprob": -0.25, "bytes": None, "top_logprobs": []}
                for id in sampled
            ]
        }
    return web.Response(body=orjson.dumps(reply), content_type="application/json")


async def _stream(
    request: web.Request,
    body: dict[str, Any],
    said: dict[str, Any],
    prompt: list[int],
    sampled: list[int],
) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
    await response.prepare(request)
    text = said["content"]
    step = max(1, len(text) // STREAMED_PIECES)
    for start in range(0, len(text), step):
        ids = sampled[start // 4 : (start + step) // 4]
        delta = {"content": text[start : start + step]}
        await response.write(_event(body, {"delta": delta, "token_ids": ids}))
    calls = [{"index": 0, **said["tool_calls"][0]}]
    await response.write(_event(body, {"delta": {"tool_calls": calls}}))
    last = {"delta": {}, "finish_reason": "tool_calls"}
    await response.write(_event(body, last, prompt_token_ids=prompt) + b"data: [DONE]\n\n")
    await response.write_eof()
    return response


def _event(body: dict[str, Any], choice: dict[str, Any], **more: Any) -> bytes:
    chunk = {
        "id": "chatcmpl-bench",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": body["model"],
        "choices": [{"index": 0, "finish_reason": None, **choice}],
        **more,
    }
    return b"data: " + orjson.dumps(chunk) + b"\n\n"


async def models(request: web.Request) -> web.Response:
    card = {"id": "m", "object": "model", "owned_by": "bench", "max_model_len": 262_144}
    return web.json_response({"object": "list", "data": [card]})


def main() -> None:
    app = web.Application(client_max_size=MAX_BODY_BYTES)
    app.router.add_post("/v1/chat/completions", chat)
    app.router.add_get("/v1/models", models)
    serve_app(app)


if __name__ == "__main__":
    main()
