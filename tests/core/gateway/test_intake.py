"""Bodies of requests: how much of them one session can make the host hold, and for how long."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import AsyncIterator, Callable
from typing import Any
from urllib.parse import urlsplit

import orjson
import pytest
from tests.core.gateway.conftest import BASH, Client, Engine, Open, Wire, user

from harness_adapters.gateway import intake, sessions
from harness_adapters.gateway.intake import Intake
from harness_adapters.types import Limits

ASK = {"model": "m", "messages": [user("go")], "tools": [BASH]}


class Raw:
    """A connection that says what it likes."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    @classmethod
    async def open(cls, client: Client, key: str = "", **headers: str) -> Raw:
        parts = urlsplit(client.origin)
        raw = cls(*await asyncio.open_connection(parts.hostname, parts.port))
        lines = {
            "Host": "127.0.0.1",
            "Authorization": f"Bearer {key or client.session.key}",
            **{name.replace("_", "-"): value for name, value in headers.items()},
        }
        head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
        await raw.send(f"POST /v1/chat/completions HTTP/1.1\r\n{head}\r\n".encode())
        return raw

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def status(self) -> int:
        line = await asyncio.wait_for(self.reader.readline(), 5)
        return int(line.split()[1])

    def leave(self) -> None:
        self.writer.transport.abort()


@pytest.fixture
async def connect(client: Client) -> AsyncIterator[Any]:
    opened: list[Raw] = []

    async def open_(**headers: str) -> Raw:
        opened.append(await Raw.open(client, **headers))
        return opened[-1]

    yield open_
    for raw in opened:
        raw.leave()


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(500):
        while not condition():  # noqa: ASYNC110 - nothing in there tells of it
            await asyncio.sleep(0.005)


async def reading(inlet: Intake, count: int) -> None:
    """Wait until so many requests are being read or wait to be."""
    await until(lambda: len(inlet._reading) == count)


@pytest.mark.timeout(600)  # engine, gateway and client share one loop
async def test_64_mib_are_accepted(engine: Engine, client: Client) -> None:
    engine.say = lambda body: ({"content": "read"}, "stop")
    text = "x" * (intake.MAX_BODY_BYTES - 1000)
    body = {**ASK, "messages": [user(text)]}
    engine.change = lambda reply: {**reply, "prompt_token_ids": [1], "usage": {}}
    status, reply = await client.post(body)
    assert status == 200, reply


async def test_nothing_is_read_of_a_request_without_a_session(client: Client) -> None:
    raw = await Raw.open(client, key="wrong", Content_Length="1000000")
    assert await raw.status() == 401
    raw.leave()


async def test_nothing_is_read_of_a_request_that_says_it_is_too_large(connect: Any) -> None:
    raw = await connect(Content_Length=str(intake.MAX_BODY_BYTES + 1))
    assert await raw.status() == 413


@pytest.mark.parametrize("packed", [False, True])
async def test_a_body_that_turns_out_too_large_is_refused(
    client: Client, monkeypatch: pytest.MonkeyPatch, packed: bool
) -> None:
    monkeypatch.setattr(intake, "MAX_BODY_BYTES", 100_000)
    client = Client(client.http, client.session, client.origin)
    client.session.intake = Intake()
    body = orjson.dumps({**ASK, "messages": [user("x" * 100_000)]})

    async def parts() -> AsyncIterator[bytes]:
        yield body

    headers = {"Authorization": f"Bearer {client.session.key}"}
    if packed:
        body, headers["Content-Encoding"] = gzip.compress(body), "gzip"
    async with client.http.post(
        f"{client.origin}/v1/chat/completions", data=parts(), headers=headers
    ) as response:
        assert response.status == 413


async def test_a_body_that_is_not_packed_as_it_says_is_refused(client: Client) -> None:
    status, _ = await client.post(ASK, **{"Content-Encoding": "gzip"})
    assert status == 400
    assert client.session.transcript().faults == ()


async def test_one_session_holds_no_more_than_one_largest_body_at_once(
    engine: Engine, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The room is given back when a request has been answered, not when it has been read."""
    monkeypatch.setattr(intake, "MAX_BODY_BYTES", 50_000)
    client.session.intake = Intake()
    engine.gate.clear()
    large: Wire = {**ASK, "messages": [user("x" * 30_000)]}
    asking = [asyncio.create_task(client.post(large)) for _ in range(3)]
    await engine.arrived.wait()
    await reading(client.session.intake, 2)
    small = asyncio.create_task(client.post(ASK))
    await reading(client.session.intake, 3)
    assert len(engine.bodies) == 1
    engine.gate.set()
    assert {status for status, _ in await asyncio.gather(*asking, small)} == {200}


async def test_one_that_leaves_while_it_waits_lets_those_behind_it_in(
    engine: Engine, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(intake, "MAX_BODY_BYTES", 50_000)
    client.session.intake = Intake()
    engine.gate.clear()
    first, second = (
        asyncio.create_task(client.post({**ASK, "messages": [user("x" * 30_000)]}))
        for _ in range(2)
    )
    await engine.arrived.wait()
    await reading(client.session.intake, 1)
    small = asyncio.create_task(client.post(ASK))
    await reading(client.session.intake, 2)
    second.cancel()
    await reading(client.session.intake, 0)
    engine.gate.set()
    assert [status for status, _ in await asyncio.gather(first, small)] == [200, 200]
    assert client.session.intake._free == 50_000


async def test_only_a_few_bodies_come_in_at_once(client: Client, connect: Any) -> None:
    slow = [await connect(Content_Length="1000") for _ in range(intake.MAX_READS)]
    await reading(client.session.intake, intake.MAX_READS)
    waiting = asyncio.create_task(client.post(ASK))
    await reading(client.session.intake, intake.MAX_READS + 1)
    assert not waiting.done()
    slow[0].leave()
    assert (await waiting)[0] == 200


async def test_a_body_that_does_not_come_is_not_waited_for(
    connect: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(intake, "READ_SECONDS", 0.05)
    raw = await connect(Content_Length="1000")
    await raw.send(b"{")
    assert await raw.status() == 408


async def test_closing_a_session_ends_its_half_read_requests(client: Client, connect: Any) -> None:
    half = await connect(Content_Length=str(40_000_000))
    await half.send(b"x" * 100_000)
    behind = await connect(Content_Length=str(40_000_000))
    await reading(client.session.intake, 2)
    client.session.close()
    assert [await half.status(), await behind.status()] == [401, 401]
    await reading(client.session.intake, 0)


@pytest.mark.timeout(600)
async def test_closing_a_session_cuts_those_who_do_not_read_their_reply(
    engine: Engine, client: Client, connect: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions, "CLOSING_SECONDS", 0.05)
    engine.say = lambda body: ({"content": "x" * 60_000_000}, "stop")
    engine.width = 1_000_000
    body = orjson.dumps(ASK)
    deaf = await connect(Content_Length=str(len(body)))
    await deaf.send(body)
    await until(lambda: bool(client.session.transcript().turns))
    client.session.close()
    await until(lambda: not client.session._connections)
    assert not client.session.transcript().turns[0].delivered


async def test_requests_count_before_they_are_read(open_client: Open) -> None:
    client = open_client(limits=Limits(max_requests=2))
    assert (await client.post(b"no json"))[0] == 400
    assert (await client.post(b"no json"))[0] == 400
    _, reply = await client.post(ASK)
    assert "budget" in reply["choices"][0]["message"]["content"]


async def test_far_beyond_the_budget_nothing_is_read_any_more(
    engine: Engine, open_client: Open
) -> None:
    client = open_client(limits=Limits(max_requests=1))
    for _ in range(1 + sessions.LAST_WORDS):
        assert (await client.post(ASK))[0] == 200
    raw = await Raw.open(client, Content_Length="1000000")
    assert await raw.status() == 429
    raw.leave()
    assert len(engine.bodies) == 1


async def test_estimates_of_tokens_are_limited_too(open_client: Open) -> None:
    client = open_client(limits=Limits(max_requests=1))
    url = f"{client.origin}{client.session.path}/v1/messages/count_tokens"
    ask = {"model": "m", "messages": [user("go")]}
    statuses = []
    for _ in range(2 + sessions.LAST_WORDS):
        async with client.http.post(url, json=ask) as response:
            statuses.append(response.status)
    assert statuses == [200] * (1 + sessions.LAST_WORDS) + [429]
    assert (await client.post(ASK))[0] == 200
