"""A small guard, a scripted upstream, and what strict clients make of streams."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from harness_adapters.gateway.failures import WireError
from harness_adapters.gateway.guard.calls import ToolCall
from harness_adapters.gateway.guard.judge import Guard, LoadedRule
from harness_adapters.gateway.guard.ledger import Ledger
from harness_adapters.gateway.interactive.allowances import GuardFile
from harness_adapters.gateway.interactive.base import HeldCall, Stream
from harness_adapters.gateway.interactive.server import InteractiveGateway
from harness_adapters.gateway.interactive.sse import SseParser
from harness_adapters.gateway.interactive.verdicts import Verdicts
from harness_adapters.types import Finding, Severity

Wire = dict[str, Any]
NOTICE = "not run"


@dataclass
class WordDoor:
    """Turns away calls that say ``forbidden``, and those that were cut."""

    ruled: list[HeldCall] = field(default_factory=list)
    server_tools: list[str] = field(default_factory=list)

    async def rule(self, calls: Sequence[HeldCall]) -> list[str | None]:
        assert calls, "asked about nothing"
        self.ruled += calls
        return [
            NOTICE if "forbidden" in call.raw or call.cut or not call.name else None
            for call in calls
        ]

    def server_tool(self, name: str) -> None:
        self.server_tools.append(name)


async def through(stream: Stream, chunks: Iterable[bytes]) -> bytes:
    """What a client gets of an upstream's bytes; an error as the gateway would write it."""
    parser, out = SseParser(), b""
    try:
        for chunk in chunks:
            for event in parser.feed(chunk):
                out += await stream.feed(event)
        for event in parser.end():
            out += await stream.feed(event)
        await stream.end()
    except WireError as error:
        out += stream.fail(error)
    return out


def sse(*events: Wire | str) -> bytes:
    """As servers write them."""
    out = ""
    for event in events:
        name = event.get("type") if isinstance(event, dict) else None
        data = event if isinstance(event, str) else json.dumps(event)
        out += (f"event: {name}\n" if name else "") + f"data: {data}\n\n"
    return out.encode()


def read_sse(raw: bytes) -> list[Any]:
    """Events of a strict stream: each ``[event: name,] data: json``, then a blank line."""
    assert raw == b"" or raw.endswith(b"\n\n")
    found: list[Any] = []
    for block in raw.decode().split("\n\n")[:-1]:
        *names, data = block.split("\n")
        if data.startswith(":"):
            continue
        value = data.removeprefix("data: ")
        found.append(value if value == "[DONE]" else json.loads(value))
        if names:
            assert names == [f"event: {found[-1]['type']}"]
    return found


def splits(raw: bytes, cuts: Iterable[int]) -> list[bytes]:
    places = [0, *sorted(cut % (len(raw) + 1) for cut in cuts), len(raw)]
    return [raw[a:b] for a, b in pairwise(places)]


# --- the gateway in front of an upstream ----------------------------------------------------------


class WordRule:
    """Blocks ``forbidden``, flags ``odd``, breaks on ``choke``."""

    def judge(self, call: ToolCall, ledger: Ledger) -> Finding | None:
        if "choke" in call.raw:
            raise RuntimeError("choked")
        for word, severity in (("forbidden", Severity.BLOCK), ("odd", Severity.FLAG)):
            if word in call.raw:
                at = call.raw.index(word)
                return Finding(
                    rule=f"words.{word}",
                    severity=severity,
                    message=f"says {word}",
                    span=(at, at + len(word)),
                )
        return None


Script = Callable[[web.Request, Any], Awaitable[web.StreamResponse]]


@dataclass
class Upstream:
    """Answers with what the test scripted, and keeps what it was asked."""

    script: Script | None = None
    requests: list[tuple[str, Mapping[str, str], bytes]] = field(default_factory=list)
    gone: asyncio.Event = field(default_factory=asyncio.Event)
    url: str = ""

    def says(
        self, body: bytes | Wire, *, status: int = 200, headers: Mapping[str, str] | None = None
    ) -> None:
        sent = body if isinstance(body, bytes) else json.dumps(body).encode()
        kind = "text/event-stream" if isinstance(body, bytes) else "application/json"

        async def script(http: web.Request, asked: Any) -> web.StreamResponse:
            all_headers = {"Content-Type": kind, **(headers or {})}
            return web.Response(body=sent, status=status, headers=all_headers)

        self.script = script

    def streams(self, *steps: bytes | asyncio.Event | None) -> None:
        """Bytes are sent, events awaited, and ``None`` breaks the connection."""

        async def script(http: web.Request, asked: Any) -> web.StreamResponse:
            out = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
            out.enable_chunked_encoding()
            await out.prepare(http)
            try:
                for step in steps:
                    if isinstance(step, bytes):
                        await out.write(step)
                    elif step is None:
                        assert http.transport is not None
                        http.transport.abort()
                    else:
                        await step.wait()
            except asyncio.CancelledError:
                self.gone.set()
                raise
            return out

        self.script = script

    async def answer(self, http: web.Request) -> web.StreamResponse:
        body = await http.read()
        self.requests.append((http.path_qs, http.headers, body))
        assert self.script is not None
        return await self.script(http, body)


@pytest.fixture
async def upstream() -> AsyncIterator[Upstream]:
    fake = Upstream()
    app = web.Application(client_max_size=1 << 28)
    app.router.add_route("*", "/{rest:.*}", fake.answer)
    runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    fake.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    yield fake
    await runner.cleanup()


@dataclass
class Agent:
    """A client of the gateway."""

    gateway: InteractiveGateway
    http: aiohttp.ClientSession
    decisions: GuardFile
    verdicts: Verdicts

    async def post(
        self, path: str, body: Any, *, session: str = "default", **headers: str
    ) -> tuple[int, Any, Mapping[str, str]]:
        async with self.http.post(
            f"{self.gateway.url(session)}{path}", data=json.dumps(body), headers=headers
        ) as response:
            raw = await response.read()
            stream = response.content_type == "text/event-stream"
            parsed = read_sse(raw) if stream else json.loads(raw)
            return response.status, parsed, response.headers

    def outcomes(self) -> list[str]:
        return [verdict.outcome for verdict in self.verdicts.recent()]


Start = Callable[..., Awaitable[Agent]]


@pytest.fixture
async def start(upstream: Upstream, tmp_path: Path) -> AsyncIterator[Start]:
    from contextlib import AsyncExitStack

    async with AsyncExitStack() as stack:

        async def start_(**options: Any) -> Agent:
            decisions = GuardFile(tmp_path / "config" / "guard.toml")
            verdicts = Verdicts(options.pop("log", None))
            gateway = InteractiveGateway(
                options.pop("upstream", upstream.url),
                guard=Guard([LoadedRule(name="words", rule=WordRule())]),
                decisions=decisions,
                verdicts=verdicts,
                project=tmp_path,
                **options,
            )
            await stack.enter_async_context(gateway)
            http = await stack.enter_async_context(aiohttp.ClientSession())
            return Agent(gateway, http, decisions, verdicts)

        yield start_


@pytest.fixture
async def agent(start: Start) -> Agent:
    return await start()
