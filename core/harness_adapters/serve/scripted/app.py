"""The HTTP side of the scripted engine."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import orjson
from aiohttp import web

from harness_adapters.serve.scripted import chat, messages, responses
from harness_adapters.serve.scripted.conversation import (
    Body,
    Conversation,
    Refused,
    from_chat,
    from_messages,
    from_responses,
)
from harness_adapters.serve.scripted.policy import Policy
from harness_adapters.serve.scripted.sample import Sample

MAX_BODY_BYTES = 256 * 1024 * 1024
CONTEXT = 131_072


def build_app(policy: Policy, *, model: str, strict: bool = False) -> web.Application:
    """The engine as an aiohttp application.

    :param model: the name it lists; requests may use any other, as with adapters.
    :param strict: answer 400 or 404 to what vLLM refuses and laxer engines let pass.
    """
    app = web.Application(client_max_size=MAX_BODY_BYTES)
    engine = _Engine(policy, model, strict)
    app.router.add_get("/health", engine.health)
    app.router.add_get("/v1/models", engine.models)
    app.router.add_post("/v1/chat/completions", engine.chat)
    app.router.add_post("/v1/messages", engine.messages)
    app.router.add_post("/v1/responses", engine.responses)
    return app


class _Engine:
    def __init__(self, policy: Policy, model: str, strict: bool) -> None:
        self._policy = policy
        self._model = model
        self._strict = strict

    async def health(self, request: web.Request) -> web.Response:
        return web.Response()

    async def models(self, request: web.Request) -> web.Response:
        card = {
            "id": self._model,
            "object": "model",
            "created": 0,
            "owned_by": "harness-adapters",
            "max_model_len": CONTEXT,
        }
        return web.json_response({"object": "list", "data": [card]})

    async def chat(self, request: web.Request) -> web.StreamResponse:
        def events(sample: Sample, body: Body) -> Iterator[bytes]:
            options = body.get("stream_options") or {}
            return chat.stream(sample, include_usage=bool(options.get("include_usage")))

        return await self._answer(request, from_chat, chat.whole, events)

    async def messages(self, request: web.Request) -> web.StreamResponse:
        return await self._answer(
            request, from_messages, messages.whole, lambda sample, _: messages.stream(sample)
        )

    async def responses(self, request: web.Request) -> web.StreamResponse:
        return await self._answer(
            request, from_responses, responses.whole, lambda sample, _: responses.stream(sample)
        )

    async def _answer(
        self,
        request: web.Request,
        read: Callable[[Body], Conversation],
        whole: Callable[[Sample], dict[str, Any]],
        events: Callable[[Sample, Body], Iterator[bytes]],
    ) -> web.StreamResponse:
        try:
            body = await _object(request)
            if self._strict and (objection := self._objection(body)):
                return _error(*objection)
            model = str(body.get("model") or self._model)
            sample = self._policy.sample(_read(read, body), body, model=model)
        except Refused as error:
            return _error(400, str(error))
        if not body.get("stream"):
            return web.Response(body=orjson.dumps(whole(sample)), content_type="application/json")
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        for event in events(sample, body):
            await response.write(event)
        await response.write_eof()
        return response

    def _objection(self, body: Body) -> tuple[int, str] | None:
        """What vLLM would say to this request, if anything."""
        if body.get("model") not in (None, self._model):
            return 404, f"The model `{body['model']}` does not exist."
        if body.get("stream_options") and not body.get("stream"):
            return 400, "Stream options can only be defined when `stream=True`."
        if body.get("tools") == []:
            return 400, "tools: must not be an empty array."
        if body.get("tool_choice") not in (None, "none") and not body.get("tools"):
            return 400, "When using `tool_choice`, `tools` must be set."
        if (body.get("max_tokens") or body.get("max_completion_tokens") or 0) > CONTEXT:
            return 400, f"This model's maximum context length is {CONTEXT} tokens."
        return None


async def _object(request: web.Request) -> Body:
    try:
        body = orjson.loads(await request.read())
    except orjson.JSONDecodeError as error:
        raise Refused(f"the body is no JSON: {error}") from None
    if not isinstance(body, dict):
        raise Refused("the body is no JSON object")
    return body


def _read(read: Callable[[Body], Conversation], body: Body) -> Conversation:
    try:
        return read(body)
    except (AttributeError, KeyError, TypeError) as error:
        # Somewhere inside, a list or a text stands where the dialect has an object.
        raise Refused(f"the body does not have the shape of this dialect ({error})") from None


def _error(status: int, message: str) -> web.Response:
    kind = "NotFoundError" if status == 404 else "BadRequestError"
    error = {"message": message, "type": kind, "param": None, "code": status}
    return web.json_response({"error": error}, status=status)
