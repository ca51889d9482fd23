"""A small engine, a small guard and a client for the gateway's tests."""

from __future__ import annotations

import asyncio
import io
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Any

import aiohttp
import orjson
import pytest
from aiohttp import web

from harness_adapters.gateway.guard.calls import ToolCall
from harness_adapters.gateway.guard.judge import Judgement
from harness_adapters.gateway.guard.ledger import Ledger
from harness_adapters.gateway.server import Gateway
from harness_adapters.gateway.sessions import GatewaySession
from harness_adapters.gateway.transcript import Decision
from harness_adapters.gateway.upstream import Upstream
from harness_adapters.serve.scripted.app import build_app
from harness_adapters.serve.scripted.plays import Play
from harness_adapters.serve.scripted.policy import Policy
from harness_adapters.types import Finding, Severity

Wire = dict[str, Any]
BASH = {"type": "function", "function": {"name": "bash", "parameters": {"type": "object"}}}
START = 2  # opens an assistant message, in history and for the one to be sampled
END = 3  # ends every sampled message
NEWLINE = 10


def call(arguments: str, *, name: str = "bash", id: str = "call_1") -> Wire:
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}


def user(text: str) -> Wire:
    return {"role": "user", "content": text}


def result(id: str, text: str) -> Wire:
    return {"role": "tool", "tool_call_id": id, "content": text}


@dataclass
class Engine:
    """Answers with ids of a toy tokenizer: one id per character; a sampled message's ids stand in
    the next prompt as they were sampled, unless ``retokenizes``.

    :ivar after_turn: what the chat template puts after an assistant's message; ``END`` besides
        where that is not sampled.
    :ivar say: makes the message and the finish reason from the request's body.
    :ivar change: edits the whole reply before it is sent, or answers something else.
    :ivar gate: requests wait for it.
    """

    say: Callable[[Wire], tuple[Wire, str]] = lambda body: ({"content": "done"}, "stop")
    change: Callable[[Wire], Wire | web.StreamResponse | None] = lambda reply: None
    retokenizes: bool = False
    samples_end: bool = True
    after_turn: tuple[int, ...] = (NEWLINE,)
    width: int = 2
    bodies: list[Wire] = field(default_factory=list)
    emitted: list[tuple[list[int], list[int], list[float]]] = field(default_factory=list)
    gate: asyncio.Event = field(default_factory=asyncio.Event)
    arrived: asyncio.Event = field(default_factory=asyncio.Event)
    cancelled: asyncio.Event = field(default_factory=asyncio.Event)
    url: str = ""

    def __post_init__(self) -> None:
        self.gate.set()

    async def answer(self, http: web.Request) -> web.StreamResponse:
        body = orjson.loads(await http.read())
        self.bodies.append(body)
        self.arrived.set()
        try:
            await self.gate.wait()
        except asyncio.CancelledError:
            self.cancelled.set()
            raise
        message, finish = self.say(body)
        prompt = self.render(body["messages"])
        sampled = self._sample(message)
        logprobs = [-0.5 - number / 1024 for number in range(len(sampled))]
        self.emitted.append((prompt, sampled, logprobs))
        reply = completion(message, finish, prompt, sampled, logprobs, body["model"])
        changed = self.change(reply)
        if isinstance(changed, web.StreamResponse):
            return changed
        return web.json_response(changed if changed is not None else reply, dumps=_dumps)

    def render(self, messages: list[Wire]) -> list[int]:
        """The ids of a whole conversation, and what opens the next message."""
        ids: list[int] = []
        for message in messages:
            if message["role"] == "assistant" and not self.retokenizes:
                ids += [START, *self._sample(message), *self.after_turn]
            else:
                text = orjson.dumps(message).decode() if self.retokenizes else _said(message)
                ids += [1, *map(ord, text), END, NEWLINE]
        return [*ids, START]

    def _sample(self, message: Wire) -> list[int]:
        """Several characters an id: another split of the text than the prompt's."""
        text = _said(message)
        parts = [text[start : start + self.width] for start in range(0, len(text), self.width)]
        end = [END] if self.samples_end else []
        return [*(1000 + sum(map(ord, part)) for part in parts), *end]


def _said(message: Wire) -> str:
    calls = [
        (c["function"]["name"], c["function"]["arguments"]) for c in message.get("tool_calls", ())
    ]
    return f"{message.get('content') or ''}{calls or ''}"


def _dumps(value: object) -> str:
    return orjson.dumps(value).decode()


def completion(
    message: Wire,
    finish: str,
    prompt: list[int],
    sampled: list[int],
    logprobs: list[float],
    model: str = "m",
) -> Wire:
    content: list[Wire] = [
        {"token": f"token_id:{id}", "logprob": logprob, "bytes": None, "top_logprobs": []}
        for id, logprob in zip(sampled, logprobs, strict=True)
    ]
    return {
        "id": "x",
        "object": "chat.completion",
        "created": 1,
        "model": model,
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": None, **message},
                "logprobs": {"content": content},
                "finish_reason": finish,
                "token_ids": sampled,
            }
        ],
        "usage": {
            "prompt_tokens": len(prompt),
            "completion_tokens": len(sampled),
            "total_tokens": len(prompt) + len(sampled),
            "prompt_tokens_details": None,
        },
        "prompt_token_ids": prompt,
    }


class WordGuard:
    """Blocks calls that say ``forbidden``; ``choke`` is a fault, ``broken`` one of the machine."""

    policy_hash = "test-policy"

    async def judge(self, call: ToolCall, ledger: Ledger) -> Judgement:
        await asyncio.sleep(0)
        decision = Decision.ALLOW
        findings: tuple[Finding, ...] = ()
        faults: tuple[str, ...] = ()
        if "forbidden" in call.raw:
            decision = Decision.BLOCK
            findings = (
                Finding(rule="words.forbidden", severity=Severity.BLOCK, message="forbidden"),
            )
        if "choke" in call.raw or "broken" in call.raw:
            decision, faults = Decision.UNJUDGEABLE, ("words: RuntimeError",)
        return Judgement(
            decision=decision, findings=findings, faults=faults, infra="broken" in call.raw
        )


@dataclass
class Client:
    """A harness's side of one session."""

    http: aiohttp.ClientSession
    session: GatewaySession
    origin: str

    async def post(self, body: Wire | bytes, **headers: str) -> tuple[int, Any]:
        """Status, and the parsed body or the list of streamed events."""
        data = body if isinstance(body, bytes) else orjson.dumps(body)
        async with self.http.post(
            f"{self.origin}/v1/chat/completions",
            data=io.BytesIO(data),
            headers={"Authorization": f"Bearer {self.session.key}", **headers},
        ) as response:
            raw = await response.read()
            if response.content_type == "text/event-stream":
                return response.status, events(raw)
            return response.status, orjson.loads(raw)

    async def ask(self, *messages: Wire, **options: Any) -> Wire:
        """The assistant message of a request that must succeed."""
        status, reply = await self.post(
            {"model": "asked-for", "messages": list(messages), "tools": [BASH], **options}
        )
        assert status == 200, reply
        if isinstance(reply, list):
            reply = accumulate(reply)
        message: Wire = reply["choices"][0]["message"]
        return message


def events(raw: bytes) -> list[Wire | str]:
    lines = [block.removeprefix("data: ") for block in raw.decode().split("\n\n") if block]
    return [line if line == "[DONE]" else orjson.loads(line) for line in lines]


def accumulate(stream: list[Wire | str]) -> Wire:
    """What a strict client makes of a stream: the non-streamed reply."""
    assert stream[-1] == "[DONE]"
    message: Wire = {"role": None, "content": None}
    calls: list[Wire] = []
    whole: Wire = {}
    finish = None
    for event in stream[:-1]:
        assert isinstance(event, dict)
        whole.update({k: event[k] for k in ("id", "created", "model")})
        if "usage" in event:
            whole["usage"] = event["usage"]
        for choice in event["choices"]:
            assert finish is None, "something comes after the finish"
            finish = choice["finish_reason"]
            for name, value in choice["delta"].items():
                if name == "tool_calls":
                    for delta in value:
                        delta = dict(delta)
                        assert delta.pop("index") == len(calls), "a gap, or a call in two parts"
                        calls.append(delta)
                else:
                    message[name] = (message.get(name) or "") + value
    if calls:
        message["tool_calls"] = calls
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": finish}
    return {**whole, "object": "chat.completion", "choices": [choice]}


@pytest.fixture
async def engine() -> AsyncIterator[Engine]:
    fake = Engine()
    app = web.Application(client_max_size=1 << 28)
    app.router.add_post("/v1/chat/completions", fake.answer)
    runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    fake.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    yield fake
    fake.gate.set()
    await runner.cleanup()


@pytest.fixture
async def gateway(engine: Engine) -> AsyncIterator[Gateway]:
    async with Gateway(upstream=Upstream(engine.url), guard=WordGuard(), port=0) as running:
        yield running


Open = Callable[..., Client]


@pytest.fixture
async def open_client(gateway: Gateway) -> AsyncIterator[Open]:
    async with AsyncExitStack() as stack:
        http = await stack.enter_async_context(aiohttp.ClientSession())

        def open_(**options: Any) -> Client:
            session = gateway.open_session(**{"model": "adapter.v1", **options})
            return Client(http=http, session=session, origin=gateway.url)

        yield open_


@pytest.fixture
def client(open_client: Open) -> Client:
    return open_client()


@pytest.fixture
async def strict_client() -> AsyncIterator[Client]:
    """Its engine answers 400 to all that vLLM refuses."""
    app = build_app(Policy([], Play("nop")), model="adapter.v1", strict=True)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    async with (
        Gateway(upstream=Upstream(url), guard=WordGuard(), port=0) as gateway,
        aiohttp.ClientSession() as http,
    ):
        session = gateway.open_session(model="adapter.v1", require_tokens=True)
        yield Client(http=http, session=session, origin=gateway.url)
    await runner.cleanup()


def replying(*replies: Mapping[str, Any] | tuple[Mapping[str, Any], str]) -> Callable[[Wire], Any]:
    """A ``say`` that gives these messages in turn, the last one for ever."""
    left = list(replies)

    def say(body: Wire) -> Any:
        reply = left.pop(0) if len(left) > 1 else left[0]
        if isinstance(reply, tuple):
            return reply
        return reply, "tool_calls" if reply.get("tool_calls") else "stop"

    return say
