"""The bodies of one session's requests: how many come in at once, and how much of them is held.

Whoever has the session's key may send as much as he likes, and what he sends is held on the host.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError

from harness_adapters.gateway.failures import Refused, session_closed

MAX_BODY_BYTES = 64 * 1024 * 1024  # of one request, and of all that a session has under way
MAX_READS = 4
READ_SECONDS = 60.0
CHUNK = 1 << 18


class Intake:
    """Lets requests in, first come first served. A body counts from its first byte until its
    request has been answered, since what is read out of it lives that long."""

    def __init__(self) -> None:
        self._free = MAX_BODY_BYTES
        self._waiting: deque[tuple[int, asyncio.Future[None]]] = deque()
        self._slots = asyncio.Semaphore(MAX_READS)
        self._reading: set[asyncio.Task[Any]] = set()
        self._closed = False

    def close(self) -> None:
        """Whatever is coming in, or waits to, is refused at once."""
        self._closed = True
        for task in self._reading:
            task.cancel()

    @asynccontextmanager
    async def body(self, http: web.Request) -> AsyncIterator[bytes]:
        """The body of a request, which counts until the context ends.

        :raises Refused: it is too large, takes too long, or the session has been closed.
        """
        # One that does not say its size, or that unpacks to another, takes all the room.
        size = None if "Content-Encoding" in http.headers else http.content_length
        room = MAX_BODY_BYTES if size is None else size
        if room > MAX_BODY_BYTES:
            raise _too_large()
        with self._until_closed():
            await self._take(room)
        try:
            with self._until_closed():
                async with self._slots:
                    whole = await _read(http)
            yield whole
        finally:
            self._give(room)

    @contextmanager
    def _until_closed(self) -> Iterator[None]:
        task = asyncio.current_task()
        assert task is not None
        self._reading.add(task)
        try:
            yield
        except asyncio.CancelledError:
            if not self._closed:
                raise
            task.uncancel()
            raise session_closed() from None
        finally:
            self._reading.discard(task)

    async def _take(self, room: int) -> None:
        if not self._waiting and room <= self._free:
            self._free -= room
            return
        entry = room, asyncio.get_running_loop().create_future()
        self._waiting.append(entry)
        try:
            await entry[1]
        except asyncio.CancelledError:
            if entry in self._waiting:
                self._waiting.remove(entry)
            let_in = entry[1].done() and not entry[1].cancelled()
            self._give(room if let_in else 0)  # those behind it may fit now
            raise

    def _give(self, room: int) -> None:
        self._free += room
        while self._waiting and self._waiting[0][0] <= self._free:
            room, let_in = self._waiting.popleft()
            if not let_in.done():  # else it is leaving
                self._free -= room
                let_in.set_result(None)


async def _read(http: web.Request) -> bytes:
    parts: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(READ_SECONDS):
            async for part in http.content.iter_chunked(CHUNK):
                size += len(part)
                if size > MAX_BODY_BYTES:
                    raise _too_large()
                parts.append(part)
    except TimeoutError:
        raise Refused("the request body took too long", status=408, code="body_timeout") from None
    except (HttpProcessingError, web.RequestPayloadError) as error:
        raise Refused(f"the request body cannot be read: {error}") from None
    return b"".join(parts)


def _too_large() -> Refused:
    return Refused("the request body is too large", status=413, code="body_too_large")
