"""A model server that says, step by step, what a test tells it to say.

The step is read from the conversation (how often the model has spoken in it), so a harness that
asks again after an error gets the same step, and one that goes past the last step gets that one
again. Once it has broken down (a status of 500 or above, a reply that was cut, or silence), a
conversation that is new gets no better answer. Replies carry the token ids and logprobs of a real
tokenizer.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import orjson
from aiohttp import web

from harness_adapters.serve.scripted.app import build_app
from harness_adapters.serve.scripted.conversation import Conversation, from_chat
from harness_adapters.serve.scripted.plays import Play
from harness_adapters.serve.scripted.policy import Policy
from harness_adapters.serve.scripted.vocabulary import Shell, Vocabulary
from harness_adapters.serve.tokens import Call as TokenCall
from harness_adapters.serve.tokens import Message


@dataclass(frozen=True, slots=True)
class Say:
    """Plain text: the model is done."""

    text: str = "I am done."


@dataclass(frozen=True, slots=True)
class Run:
    """A call of the harness's own shell tool, found among the tools that it declares."""

    command: str


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call as it stands, declared or not, well-formed or not."""

    name: str
    arguments: str = "{}"


@dataclass(frozen=True, slots=True)
class Fail:
    """An HTTP error, each time."""

    status: int = 500
    message: str = "boom"
    code: str = ""


@dataclass(frozen=True, slots=True)
class Silence:
    """No answer, ever."""


@dataclass(frozen=True, slots=True)
class Cut:
    """Half an answer, then the connection is gone, each time."""


Step = Say | Run | Call | Fail | Silence | Cut
Speak = Callable[[Run], Step]
"""How a harness that declares no tools is told to run a command."""


class StepEngine:
    """Plays ``steps``.

    :param speak: for a harness with a text protocol: turns a ``Run`` into what the model says.
    :ivar asked: the bodies it was sent.
    """

    def __init__(self, steps: Sequence[Step], *, speak: Speak | None = None) -> None:
        self.steps = tuple(steps)
        self.asked: list[dict[str, Any]] = []
        self._speak = speak
        self._broken: Fail | Cut | Silence | None = None
        self._closing = asyncio.Event()

    @asynccontextmanager
    async def serve(self) -> AsyncIterator[str]:
        """Serve on a free loopback port while the context is open; yields the URL."""
        app = build_app(_StepPolicy(self.step), model="scripted")
        app.middlewares.append(self._failing)
        listener = socket.create_server(("127.0.0.1", 0))
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await runner.setup()
        try:
            await web.SockSite(runner, listener).start()
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            self._closing.set()
            await runner.cleanup()

    def step(self, conversation: Conversation) -> Step:
        spoken = sum(message.role == "assistant" for message in conversation.messages)
        step = self.steps[min(spoken, len(self.steps) - 1)]
        return self._speak(step) if self._speak and isinstance(step, Run) else step

    @web.middleware
    async def _failing(
        self,
        request: web.Request,
        handler: Callable[[web.Request], Awaitable[web.StreamResponse]],
    ) -> web.StreamResponse:
        if request.method != "POST":
            return await handler(request)
        body = orjson.loads(await request.read())
        self.asked.append(body)
        conversation = from_chat(body)
        step = self.step(conversation)
        if self._broken and not any(one.role == "assistant" for one in conversation.messages):
            step = self._broken
        if isinstance(step, Cut | Silence) or (isinstance(step, Fail) and step.status >= 500):
            self._broken = step
        match step:
            case Fail(status, message, code):
                error = {"message": message, "type": "BadRequestError", "code": code or status}
                return web.json_response({"error": error}, status=status)
            case Silence():
                await self._closing.wait()
                raise web.HTTPServiceUnavailable
            case Cut():
                response = web.StreamResponse(headers={"content-type": "application/json"})
                await response.prepare(request)
                await response.write(b'{"id": "cut", "choices": [{"index": 0, "mess')
                assert request.transport is not None
                request.transport.abort()
                return response
        return await handler(request)


class _StepPolicy(Policy):
    def __init__(self, step: Callable[[Conversation], Step]) -> None:
        super().__init__([], Play("nop"))
        self._step = step

    def reply(self, conversation: Conversation) -> Message:
        match self._step(conversation):
            case Run(command):
                calls = Vocabulary(conversation.tools, "/work").calls(Shell(command))
                return Message("assistant", "I will run a command.", tuple(calls))
            case Call(name, arguments):
                called = TokenCall(name, arguments)
                return Message("assistant", "I will use a tool.", (called,))
            case Say(text):
                return Message("assistant", text)
            case step:
                raise AssertionError(f"{step} is answered before the policy is asked")
