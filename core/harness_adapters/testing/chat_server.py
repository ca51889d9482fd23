"""A chat server for tests of harness drivers: it plays fixed replies, bad ones among them.

It says nothing about tokens and judges nothing; it is the far end of the wire for a driver that is
tested alone::

    async with ChatServer([call("bash", {"command": "ls"}), text("done")]).serve() as server:
        ...  # the harness's base URL is f"{server.url}/s/anything"; server.asked holds the requests
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from aiohttp import web

Reply = Callable[[web.Request, dict[str, Any]], Awaitable[web.StreamResponse]]
"""Answers one request with the given body."""


async def _stream(
    request: web.Request, model: str, deltas: Sequence[dict[str, Any]], finish: str | None
) -> web.StreamResponse:
    response = web.StreamResponse(headers={"content-type": "text/event-stream"})
    await response.prepare(request)
    ends: list[tuple[dict[str, Any], str | None]] = [(delta, None) for delta in deltas]
    if finish is not None:
        ends.append(({}, finish))
    for delta, reason in ends:
        choice = {"index": 0, "delta": delta, "finish_reason": reason}
        chunk = {"id": "c", "object": "chat.completion.chunk", "model": model, "choices": [choice]}
        await response.write(b"data: " + json.dumps(chunk).encode() + b"\n\n")
    if finish is None:
        assert request.transport is not None
        request.transport.abort()
    else:
        await response.write(b"data: [DONE]\n\n")
    return response


def text(content: str, *, finish: str = "stop") -> Reply:
    """A plain answer."""
    return lambda request, body: _stream(
        request, body["model"], [{"role": "assistant", "content": content}], finish
    )


def call(name: str, arguments: dict[str, Any] | str, *, finish: str = "tool_calls") -> Reply:
    """One tool call; ``arguments`` as a string go out as they are."""
    raw = arguments if isinstance(arguments, str) else json.dumps(arguments)

    async def reply(request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        called = {
            "index": 0,
            "id": f"call_{len(body['messages'])}",
            "type": "function",
            "function": {"name": name, "arguments": raw},
        }
        delta = {"role": "assistant", "tool_calls": [called]}
        return await _stream(request, body["model"], [delta], finish)

    return reply


def cut() -> Reply:
    """Half an answer, then the connection is gone."""
    return lambda request, body: _stream(
        request, body["model"], [{"role": "assistant", "content": "half a"}], None
    )


def refusal(status: int, message: str, code: str = "") -> Reply:
    """An error in OpenAI's form."""

    async def reply(request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        error = {"message": message, "type": "invalid_request_error", "code": code}
        return web.json_response({"error": error}, status=status)

    return reply


def silence() -> Reply:
    """Nothing, for ever."""

    async def reply(request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        await asyncio.Event().wait()
        raise AssertionError

    return reply


class ChatServer:
    """Plays ``replies`` in order, the last one for ever.

    :ivar asked: the bodies it was sent.
    :ivar authorizations: the ``Authorization`` headers it was sent.
    :ivar url: where it listens on TCP, while it serves.
    """

    def __init__(self, replies: Sequence[Reply] = ()) -> None:
        self.replies = list(replies)
        self.asked: list[dict[str, Any]] = []
        self.authorizations: set[str] = set()
        self.url = ""

    @asynccontextmanager
    async def serve(self, socket: Path | None = None) -> AsyncIterator[ChatServer]:
        """Listen on a free port of the loopback interface, and on ``socket`` if given."""
        app = web.Application(client_max_size=64 * 1024 * 1024)
        app.router.add_post("/s/{session}/v1/chat/completions", self._answer)
        runner = web.AppRunner(app, shutdown_timeout=0.1)
        await runner.setup()
        try:
            await web.TCPSite(runner, "127.0.0.1", 0).start()
            self.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
            if socket is not None:
                await web.UnixSite(runner, str(socket)).start()
            yield self
        finally:
            await runner.cleanup()

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        self.asked.append(body)
        self.authorizations.add(request.headers.get("authorization", ""))
        return await self.replies[min(len(self.asked), len(self.replies)) - 1](request, body)
