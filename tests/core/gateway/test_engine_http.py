"""The client of the engine: what it makes of anything that a server may send."""

from __future__ import annotations

import asyncio
import gc
import tracemalloc
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
import uvloop
from hypothesis import given, settings
from hypothesis import strategies as st

from harness_adapters.errors import BadInput
from harness_adapters.gateway import engine_http
from harness_adapters.gateway.engine_http import HttpPool, Lost, Malformed, Reply
from harness_adapters.gateway.upstream import Upstream

LIMIT = 1000
PLAIN = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX-A: b\r\n\r\nhi"
CHUNKED = (
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nX-A: b\r\n\r\n"
    b"1\r\nh\r\n1;x=y\r\ni\r\n0\r\n\r\n"
)
INTERIM = b"HTTP/1.1 100 Continue\r\nX-A: no\r\n\r\n" + PLAIN


class Server:
    """Answers each request with the next of these pieces of bytes, cut where they are cut.

    A ``None`` among them closes the connection; after the last one the server says nothing more.
    """

    def __init__(self, *replies: list[bytes | None]) -> None:
        self.left = list(replies)
        self.requests: list[bytes] = []
        self.connections = 0
        self.gone = asyncio.Event()
        self.asked = asyncio.Event()

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r")[0])
                self.requests.append(head + await reader.readexactly(length))
                self.asked.set()
                for piece in self.left.pop(0) if self.left else ():
                    if piece is None:
                        return
                    writer.write(piece)
                    await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            self.gone.set()
        finally:
            writer.close()


@asynccontextmanager
async def pool_for(server: Server, limit: int = LIMIT) -> AsyncIterator[HttpPool]:
    listening = await asyncio.start_server(server, "127.0.0.1", 0)
    port = listening.sockets[0].getsockname()[1]
    pool = HttpPool(f"http://127.0.0.1:{port}/base/", {"X-Key": "k"}, limit=limit)
    try:
        yield pool
    finally:
        pool.close()
        listening.close()


@pytest.fixture(params=["asyncio", "uvloop"])
def run(request: pytest.FixtureRequest) -> Callable[[Any], Any]:
    return asyncio.run if request.param == "asyncio" else uvloop.run


def posted(run: Callable[[Any], Any], *replies: list[bytes | None], times: int = 1) -> Any:
    """The last of so many replies, and the server."""

    async def work() -> tuple[Reply, Server]:
        server = Server(*replies)
        async with pool_for(server) as pool:
            for _ in range(times):
                reply = await pool.post("/v1/x", b"body")
        return reply, server

    return run(work())


@pytest.mark.parametrize("raw", [PLAIN, CHUNKED, INTERIM], ids=["plain", "chunked", "interim"])
def test_a_reply(run: Callable[[Any], Any], raw: bytes) -> None:
    reply, server = posted(run, [raw], [raw], [raw], times=3)
    assert (reply.status, reply.headers["x-a"], reply.body) == (200, "b", b"hi")
    assert server.connections == 1
    assert server.requests[0].startswith(b"POST /base/v1/x HTTP/1.1\r\n")
    assert b"\r\nX-Key: k\r\n" in server.requests[0]
    assert server.requests[0].endswith(b"\r\n\r\nbody")
    assert b"\r\nHost: 127.0.0.1:" in server.requests[0]


@settings(max_examples=25)
@given(st.sampled_from([PLAIN, CHUNKED, INTERIM]), st.lists(st.integers(1, 110), max_size=6))
def test_no_split_of_the_bytes_matters(raw: bytes, cuts: list[int]) -> None:
    ends = sorted({cut for cut in cuts if cut < len(raw)})
    pieces = [raw[a:b] for a, b in zip([0, *ends], [*ends, len(raw)], strict=True)]
    reply, _ = posted(uvloop.run, list[bytes | None](pieces))
    assert (reply.status, reply.headers["x-a"], reply.body) == (200, "b", b"hi")


def test_a_body_without_a_length_ends_with_the_connection(run: Callable[[Any], Any]) -> None:
    raw = b"HTTP/1.1 503 Busy\r\nRetry-After: 3\r\n\r\nlat"
    reply, server = posted(run, [raw, b"er", None], [PLAIN], times=2)
    assert (reply.status, server.connections) == (200, 2)
    reply, _ = posted(run, [raw, b"er", None])
    assert (reply.status, reply.headers["retry-after"], reply.body) == (503, "3", b"later")


@pytest.mark.parametrize(
    "raw",
    [
        b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nhi",
        b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nhi",
        PLAIN + PLAIN,  # out of step: whose reply would the second be?
        PLAIN + b"x",
    ],
    ids=["1.0", "close", "twice", "more"],
)
def test_a_connection_that_cannot_be_trusted_is_not_used_again(
    run: Callable[[Any], Any], raw: bytes
) -> None:
    first, _ = posted(run, [raw])
    reply, server = posted(run, [raw], [PLAIN], times=2)
    assert first.body == reply.body == b"hi" and server.connections == 2


@pytest.mark.parametrize(
    "pieces",
    [[None], [PLAIN[:10], None], [PLAIN[:-1], None], [CHUNKED[:-3], None], [INTERIM[:40], None]],
    ids=["at once", "in the head", "in the body", "in a chunk", "after an interim reply"],
)
def test_a_cut_is_no_reply(run: Callable[[Any], Any], pieces: list[bytes | None]) -> None:
    with pytest.raises(Lost) as lost:
        posted(run, pieces)
    assert not lost.value.unread
    with pytest.raises(Lost) as lost:  # on a connection that was idle before
        posted(run, [PLAIN], pieces, times=2)
    assert lost.value.unread is (pieces == [None])


@pytest.mark.parametrize(
    "raw",
    [
        b"SSH-2.0-x\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 1001\r\n\r\n" + b"x" * 1001,
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    ],
    ids=["other", "length", "large", "chunk"],
)
def test_what_cannot_be_used(run: Callable[[Any], Any], raw: bytes) -> None:
    with pytest.raises(Malformed):
        posted(run, [raw])


def test_silence_ends_it(run: Callable[[Any], Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_http, "SILENCE_SECONDS", 0.1)
    with pytest.raises(TimeoutError, match="nothing came"):
        posted(run, [PLAIN[:20]])


def test_cancelling_leaves(run: Callable[[Any], Any]) -> None:
    async def work() -> None:
        server = Server([])
        async with pool_for(server) as pool:
            asking = asyncio.create_task(pool.post("/v1/x", b""))
            await server.asked.wait()
            asking.cancel()
            await asyncio.wait_for(server.gone.wait(), 10)
            with pytest.raises(asyncio.CancelledError):
                await asking

    run(work())


def test_idle_connections_are_closed_in_time(
    run: Callable[[Any], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine_http, "IDLE_SECONDS", 0.05)

    async def work() -> None:
        server = Server([PLAIN], [PLAIN])
        async with pool_for(server) as pool:
            await pool.post("/v1/x", b"")
            await asyncio.wait_for(server.gone.wait(), 10)
            assert (await pool.post("/v1/x", b"")).body == b"hi"
        assert server.connections == 2

    run(work())


def test_many_at_once(run: Callable[[Any], Any]) -> None:
    async def work() -> None:
        replies_of_all: list[list[bytes | None]] = [[PLAIN] for _ in range(60)]
        server = Server(*replies_of_all)
        async with pool_for(server) as pool:
            replies = await asyncio.gather(*(pool.post("/v1/x", b"%d" % n) for n in range(30)))
            replies += await asyncio.gather(*(pool.post("/v1/x", b"%d" % n) for n in range(30)))
        assert [reply.body for reply in replies] == [b"hi"] * 60
        assert server.connections == 30

    run(work())


@pytest.mark.parametrize(
    ("url", "key"),
    [
        ("localhost:8000", None),
        ("http://", None),
        ("http://a:99999", None),
        ("http://a:x", None),
        ("http://[::1", None),
        ("http://h\u00f6st", None),
        ("http://a/\r\nX: y", None),
        ("http://a", "k\r\nX: y"),
        ("http://a", "k\u00e9y"),
    ],
)
def test_what_no_request_can_be_made_of(url: str, key: str | None) -> None:
    with pytest.raises(BadInput):
        Upstream(url, key)


def test_an_idle_connection_holds_nothing_of_its_last_reply() -> None:
    """Connections stay open for minutes, one for each session that was busy at once."""
    size = 4 * 1024**2
    reply = f"HTTP/1.1 200 OK\r\nContent-Length: {size}\r\n\r\n".encode() + b"x" * size

    async def held() -> tuple[int, int]:
        async with pool_for(Server([reply]), limit=2 * size) as pool:
            tracemalloc.start()
            try:
                got = len((await pool.post("chat", b"{}")).body)
                await asyncio.sleep(0)  # what woke this task up holds the reply too
                gc.collect()
                return got, tracemalloc.get_traced_memory()[0]
            finally:
                tracemalloc.stop()

    got, kept = asyncio.run(held())
    assert got == size
    assert kept < size // 4
