"""Where the gateway serves, whom it answers, and how failures of the engine read."""

from __future__ import annotations

import asyncio
import stat
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import web
from tests.core.gateway.conftest import BASH, Client, Engine, Open, WordGuard, user

from harness_adapters.errors import BadInput
from harness_adapters.gateway import intake, upstream
from harness_adapters.gateway.server import Gateway
from harness_adapters.gateway.upstream import Upstream
from harness_adapters.types import Limits

ASK = {"model": "m", "messages": [user("go")], "tools": [BASH]}


def make(engine: Engine, **options: Any) -> Gateway:
    return Gateway(upstream=Upstream(engine.url), guard=WordGuard(), **options)


async def test_serves_on_a_unix_socket(engine: Engine, tmp_path: Path) -> None:
    socket = tmp_path / "gateway.sock"
    async with make(engine, socket=socket) as gateway:
        assert stat.S_ISSOCK(socket.stat().st_mode)
        session = gateway.open_session(model="m")
        async with (
            aiohttp.ClientSession(connector=aiohttp.UnixConnector(str(socket))) as http,
            http.post(
                f"http://127.0.0.1:80{session.path}/v1/chat/completions", json=ASK
            ) as response,
        ):
            assert response.status == 200
        assert len(session.transcript().turns) == 1
        with pytest.raises(BadInput, match="no port"):
            _ = gateway.port
    assert not socket.exists()


async def test_serves_on_both_at_once(engine: Engine, tmp_path: Path) -> None:
    async with make(engine, socket=tmp_path / "s", port=0) as gateway, aiohttp.ClientSession() as c:
        assert (await c.get(f"{gateway.url}/health")).status == 200


async def test_bad_places_to_serve(engine: Engine, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"0\.0\.0\.0"):
        make(engine, port=0, host="0.0.0.0")
    with pytest.raises(BadInput, match="socket or a port"):
        make(engine)
    async with make(engine, port=0) as gateway:
        with pytest.raises(BadInput, match=str(gateway.port)):
            async with make(engine, port=gateway.port):
                pass
    with pytest.raises(BadInput, match="cannot serve on the socket"):
        async with make(engine, socket=tmp_path / "no" / "folder"):
            pass
    with pytest.raises(BadInput, match="nowhere"):
        Upstream("nowhere")


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "evil.example"}, 403),
        ({"Host": "127.0.0.1.evil.example:80"}, 403),
        ({"Host": "[::1"}, 403),
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Host": "localhost:1234", "Origin": "http://localhost:3000"}, 200),
        ({"Host": "[::1]:80"}, 200),
    ],
)
async def test_only_loopback_names_are_answered(
    client: Client, headers: dict[str, str], status: int
) -> None:
    """A web page that has its own name point to 127.0.0.1."""
    got, reply = await client.post(ASK, **headers)
    assert got == status
    assert (status == 200) == ("choices" in reply)


async def test_models_health_and_unknown_routes(client: Client) -> None:
    headers = {"Authorization": f"Bearer {client.session.key}"}

    async def get(path: str, **options: Any) -> tuple[int, Any]:
        async with client.http.get(f"{client.origin}{path}", **options) as response:
            return response.status, await response.json()

    assert await get("/health") == (200, {"status": "ok"})
    status, listed = await get("/v1/models", headers=headers)
    assert status == 200 and [card["id"] for card in listed["data"]] == ["adapter.v1"]
    assert (await get(f"{client.session.path}/v1/models/adapter.v1"))[0] == 200
    assert (await get("/v1/models/org/other", headers=headers))[0] == 404
    assert (await get("/v1/models"))[0] == 401
    status, error = await get("/v1/nothing")
    assert status == 404 and error["error"]["type"] == "invalid_request_error"


async def test_bodies_beyond_the_limit_get_413(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(intake, "MAX_BODY_BYTES", 2_000_000)
    async with make(engine, port=0) as gateway, aiohttp.ClientSession() as http:
        client = Client(http=http, session=gateway.open_session(model="m"), origin=gateway.url)
        assert (await client.post({**ASK, "messages": [user("x" * 1_900_000)]}))[0] == 200
        status, error = await client.post({**ASK, "messages": [user("x" * 2_000_000)]})
        assert (status, error["error"]["code"]) == (413, "body_too_large")


def answering(status: int, body: bytes, **headers: str) -> Any:
    return lambda reply: web.Response(status=status, body=body, headers=headers)


async def test_engine_errors_pass_and_a_later_success_clears_them(
    engine: Engine, client: Client
) -> None:
    body = b'{"error":{"message":"slow down","type":"rate_limit","code":null}}'
    engine.change = answering(429, body, **{"Retry-After": "7"})
    async with client.http.post(
        f"{client.origin}{client.session.path}/v1/chat/completions", json=ASK
    ) as response:
        assert (response.status, response.headers["Retry-After"]) == (429, "7")
        assert await response.read() == body
    engine.change = answering(500, b"<html>oops</html>")
    status, error = await client.post({**ASK, "stream": True})
    assert status == 500 and "oops" in error["error"]["message"]
    faults = client.session.transcript().faults
    assert len(faults) == 2 and "429" in faults[0] and "500" in faults[1]
    assert not client.session.transcript().turns

    engine.change = lambda reply: None
    await client.ask(user("go"))
    assert client.session.transcript().faults == ()


async def test_a_prompt_that_is_too_long_is_no_fault_of_the_engine(
    engine: Engine, client: Client
) -> None:
    body = b'{"error":{"message":"maximum context length is 5","code":400}}'
    engine.change = answering(400, body)
    assert (await client.post(ASK))[0] == 400
    assert client.session.transcript().faults == ()


@pytest.mark.parametrize(
    "change",
    [
        answering(200, b"not json"),
        answering(200, b"[]"),
        answering(200, b"{}"),
        answering(302, b"", Location="http://127.0.0.1:9/"),
        lambda reply: {**reply, "choices": reply["choices"] * 2},
        lambda reply: reply["choices"][0].update(finish_reason="abort"),
        lambda reply: reply["choices"][0].update(finish_reason=None),
        lambda reply: reply["choices"][0].update(message=None),
        lambda reply: reply["choices"][0]["message"].update(content=["x"]),
        lambda reply: reply["choices"][0]["message"].update(tool_calls="x"),
        lambda reply: reply["choices"][0]["message"].update(tool_calls=[{"type": "custom"}]),
    ],
)
async def test_replies_that_are_no_completion_are_errors_and_no_turns(
    engine: Engine, client: Client, change: Any
) -> None:
    engine.change = change
    status, error = await client.post(ASK)
    assert status in (502, 503) and error["error"]["type"] == "api_error"
    transcript = client.session.transcript()
    assert not transcript.turns and len(transcript.faults) == 1


async def test_the_engines_key_goes_to_the_engine_and_the_clients_does_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[str | None] = []

    async def answer(http: web.Request) -> web.StreamResponse:
        seen.append(http.headers.get("Authorization"))
        return web.Response(
            body=b'{"choices":[{"message":{"content":"x"},"finish_reason":"stop"}]}'
        )

    app = web.Application()
    app.router.add_post("/v1/chat/completions", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1/"
    for key, limit in (("secret", upstream.MAX_REPLY_BYTES), (None, 10)):
        monkeypatch.setattr(upstream, "MAX_REPLY_BYTES", limit)
        async with (
            Gateway(upstream=Upstream(url, key), guard=WordGuard(), port=0) as gateway,
            aiohttp.ClientSession() as http,
        ):
            client = Client(http=http, session=gateway.open_session(model="m"), origin=gateway.url)
            status, reply = await client.post(ASK)
        if key:
            assert status == 200
        else:
            assert status == 502 and "larger than 10 bytes" in reply["error"]["message"]
    await runner.cleanup()
    assert seen == ["Bearer secret", None]


async def test_an_engine_that_is_not_there(tmp_path: Path) -> None:
    async with (
        Gateway(upstream=Upstream("http://127.0.0.1:9/v1"), guard=WordGuard(), port=0) as gateway,
        aiohttp.ClientSession() as http,
    ):
        client = Client(http=http, session=gateway.open_session(model="m"), origin=gateway.url)
        status, error = await client.post(ASK)
        assert (status, error["error"]["code"]) == (502, "upstream_unreachable")
        assert len(client.session.transcript().faults) == 1


class Flaky:
    """An engine over raw sockets that closes after each reply though it promised to keep alive,
    or answers nothing at all."""

    def __init__(self, *, silent: bool = False) -> None:
        self.requests = 0
        self.silent = silent

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        length = next(
            int(line.split(b":")[1])
            for line in head.split(b"\r\n")
            if line.lower().startswith(b"content-length")
        )
        await reader.readexactly(length)
        self.requests += 1
        if not self.silent:
            body = b'{"choices":[{"message":{"content":"hi"},"finish_reason":"stop"}]}'
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
            await writer.drain()
            # the next request is taken in and dropped: a race lost by its sender
            await reader.read(1)
        writer.transport.abort()


async def test_a_reset_of_an_idle_connection_is_retried_once(engine: Engine) -> None:
    """RF34: the engine closes the pooled connection while the next request is on its way."""
    flaky = Flaky()
    engine_server = await asyncio.start_server(flaky, "127.0.0.1", 0)
    port = engine_server.sockets[0].getsockname()[1]
    async with (
        engine_server,
        Gateway(
            upstream=Upstream(f"http://127.0.0.1:{port}"), guard=WordGuard(), port=0
        ) as gateway,
        aiohttp.ClientSession() as http,
    ):
        session = gateway.open_session(model="m", limits=Limits(max_requests=100))
        client = Client(http=http, session=session, origin=gateway.url)
        for _ in range(20):
            assert (await client.ask(user("go")))["content"] == "hi"
    assert flaky.requests == 20
    assert len(session.transcript().turns) == 20


async def test_a_reset_of_a_fresh_connection_is_an_error(engine: Engine) -> None:
    """The engine may have worked on it: it is not asked twice."""
    flaky = Flaky(silent=True)
    engine_server = await asyncio.start_server(flaky, "127.0.0.1", 0)
    port = engine_server.sockets[0].getsockname()[1]
    async with (
        engine_server,
        Gateway(
            upstream=Upstream(f"http://127.0.0.1:{port}"), guard=WordGuard(), port=0
        ) as gateway,
        aiohttp.ClientSession() as http,
    ):
        client = Client(http=http, session=gateway.open_session(model="m"), origin=gateway.url)
        assert (await client.post(ASK))[0] == 502
    assert flaky.requests == 1


async def test_stopping_the_gateway_ends_work_at_once(engine: Engine, open_client: Open) -> None:
    engine.gate.clear()
    async with make(engine, port=0) as gateway, aiohttp.ClientSession() as http:
        client = Client(http=http, session=gateway.open_session(model="m"), origin=gateway.url)
        asking = asyncio.create_task(client.post({**ASK, "stream": True}))
        await engine.arrived.wait()
    await asyncio.wait_for(engine.cancelled.wait(), 2)
    await asyncio.wait({asking}, timeout=2)
    assert asking.done()
    if asking.exception() is None:
        assert asking.result()[0] == 401
