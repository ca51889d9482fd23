"""HTTP/1.1 to one server over kept-alive connections: POST a body, get the whole reply.

Nothing more than the gateway needs, since it pays for it with each call (docs/adr/0008).
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Mapping
from typing import cast
from urllib.parse import urlsplit

import httptools

CONNECT_SECONDS = 10.0
SILENCE_SECONDS = 600.0
# Shorter than the 5 s after which common engine servers close an idle connection: who closes first
# never sees the other's reset.
IDLE_SECONDS = 4.0


class Lost(ConnectionError):
    """The connection ended before the reply had.

    :ivar unread: it was an idle one that the server had closed: it never read the request.
    """

    def __init__(self, message: str, *, unread: bool) -> None:
        super().__init__(message)
        self.unread = unread


class Malformed(Exception):
    """What came is no HTTP, or more than was to be taken."""


class Reply:
    """:ivar headers: by lower-case name; of several with one name the last."""

    __slots__ = ("body", "headers", "status")

    def __init__(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        self.status = status
        self.headers = headers
        self.body = body


class HttpPool:
    """Connections to the server of a URL.

    :param base_url: ``http(s)://host[:port][/path]``; requests go to paths below it.
    :param limit: bytes of a reply's body; a larger one is ``Malformed``.
    """

    def __init__(self, base_url: str, headers: Mapping[str, str], *, limit: int) -> None:
        parts = urlsplit(base_url)
        secure = parts.scheme == "https"
        self._host = parts.hostname or ""
        self._port = parts.port or (443 if secure else 80)
        self._tls = ssl.create_default_context() if secure else None
        self._path = parts.path.rstrip("/")
        lines = {"Host": parts.netloc.rpartition("@")[2], **headers}
        self._head = "".join(f"{name}: {value}\r\n" for name, value in lines.items()).encode()
        self._limit = limit
        self._idle: dict[_Connection, asyncio.TimerHandle] = {}
        self._busy: set[_Connection] = set()

    def close(self) -> None:
        """Whatever is under way fails as ``Lost``."""
        for connection in (*self._idle, *self._busy):
            connection.close()

    async def post(self, path: str, body: bytes) -> Reply:
        """Cancelling it closes the connection, which the server takes for a client that left.

        :raises Lost: the connection ended.
        :raises Malformed: what came cannot be used.
        :raises OSError: there is no connection to be had.
        :raises TimeoutError: connecting took too long, or nothing came for too long.
        """
        connection = self._reused() or await self._connected()
        self._busy.add(connection)
        first = f"POST {self._path}{path} HTTP/1.1\r\nContent-Length: {len(body)}\r\n".encode()
        try:
            reply = await connection.exchange(first + self._head + b"\r\n", body)
        except BaseException:
            connection.close()
            raise
        finally:
            self._busy.discard(connection)
        if connection.reusable:
            loop = asyncio.get_running_loop()
            self._idle[connection] = loop.call_later(IDLE_SECONDS, self._expire, connection)
        else:
            connection.close()
        return reply

    def _reused(self) -> _Connection | None:
        while self._idle:
            connection, timer = self._idle.popitem()
            timer.cancel()
            if connection.reusable:
                return connection
        return None

    def _expire(self, connection: _Connection) -> None:
        if self._idle.pop(connection, None):
            connection.close()

    async def _connected(self) -> _Connection:
        async with asyncio.timeout(CONNECT_SECONDS):
            _, connection = await asyncio.get_running_loop().create_connection(
                lambda: _Connection(self._limit), self._host, self._port, ssl=self._tls
            )
        return connection


class _Connection(asyncio.Protocol):
    """One exchange after the other. What the parser calls is named as it wants it."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._transport: asyncio.Transport | None = None
        self._reply: asyncio.Future[Reply] | None = None
        self._exchanges = 0
        self._open = False
        self._ends = False  # the server closes after this reply
        self._clear()

    def _clear(self) -> None:
        self._parser = httptools.HttpResponseParser(self)
        self._headers: dict[str, str] = {}
        self._parts: list[bytes] = []
        self._size = 0
        self._heard = False
        self._headed = False

    @property
    def reusable(self) -> bool:
        return self._open and not self._ends and self._reply is None

    async def exchange(self, head: bytes, body: bytes) -> Reply:
        assert self._transport is not None
        loop = asyncio.get_running_loop()
        self._exchanges += 1
        self._clear()
        self._reply = loop.create_future()
        self._quiet_since = loop.time()
        timer = loop.call_later(SILENCE_SECONDS, self._check_silence)
        try:
            self._timer = timer
            self._transport.writelines((head, body))
            return await self._reply
        finally:
            self._timer.cancel()
            self._reply = None

    def close(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def _fail(self, error: Exception) -> None:
        if self._reply is not None and not self._reply.done():
            self._reply.set_exception(error)

    def _check_silence(self) -> None:
        loop = asyncio.get_running_loop()
        quiet = loop.time() - self._quiet_since
        if quiet >= SILENCE_SECONDS:
            self._fail(TimeoutError(f"nothing came for {SILENCE_SECONDS:g} s"))
        else:
            self._timer = loop.call_later(SILENCE_SECONDS - quiet, self._check_silence)

    # --- what the event loop calls --------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport, self._open = cast(asyncio.Transport, transport), True

    def data_received(self, data: bytes) -> None:
        if self._reply is None or self._reply.done():  # nothing was asked: it is out of step
            self._ends = True
            self.close()
            return
        self._heard = True
        self._quiet_since = asyncio.get_running_loop().time()
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError as error:
            self._ends = True
            self._fail(Malformed(f"no HTTP: {error}"))

    def connection_lost(self, error: Exception | None) -> None:
        self._open = False
        if error is None and self._headed and self._until_the_end:
            self._finish()
        unread = self._exchanges > 1 and not self._heard
        self._fail(Lost(str(error or "the connection was closed"), unread=unread))

    # --- what the parser calls ------------------------------------------------------------------

    def on_message_begin(self) -> None:
        if self._reply is None or self._reply.done():
            self._ends = True  # a second reply to one request

    def on_header(self, name: bytes, value: bytes) -> None:
        self._headers[name.decode("latin-1").lower()] = value.decode("latin-1")

    def on_headers_complete(self) -> None:
        self._headed = True

    def on_body(self, part: bytes) -> None:
        self._size += len(part)
        if self._size > self._limit:
            self._parts.clear()
            self._ends = True
            self._fail(Malformed(f"larger than {self._limit} bytes"))
        else:
            self._parts.append(part)

    def on_message_complete(self) -> None:
        if 100 <= self._parser.get_status_code() < 200:  # not the reply yet
            self._headers.clear()
            self._headed = False
            return
        self._ends = self._ends or not self._parser.should_keep_alive()
        self._finish()

    def _finish(self) -> None:
        # An idle connection waits for minutes, and a body of 100k tokens is half a megabyte.
        parts, self._parts = self._parts, []
        if self._reply is not None and not self._reply.done():
            status = self._parser.get_status_code()
            self._reply.set_result(Reply(status, self._headers, b"".join(parts)))
            self._headers = {}

    @property
    def _until_the_end(self) -> bool:
        """The body has no length of its own: the end of the connection is its end."""
        return not self._headers.keys() & {"content-length", "transfer-encoding"}
