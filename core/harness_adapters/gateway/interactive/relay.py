"""Carrying an answer to the client: whole, streamed, or passed when it holds no call."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

import aiohttp
from aiohttp import web

from harness_adapters.gateway.delivery import EVENT_STREAM
from harness_adapters.gateway.failures import UpstreamError, WireError
from harness_adapters.gateway.interactive.base import Stream, our_fault, unreadable
from harness_adapters.gateway.interactive.forward import FAILURES, failed, response_headers
from harness_adapters.gateway.interactive.sse import COMMENT, SseEvent, SseParser, encode
from harness_adapters.gateway.interactive.wire_json import carries_call, read_object, write_json

log = logging.getLogger(__name__)

MAX_WHOLE_BYTES = 64 * 1024 * 1024
_BINARY = ("image/", "audio/", "video/")
WireErrorText = Callable[[WireError], bytes]


async def read_whole(response: aiohttp.ClientResponse) -> bytes:
    """:raises UpstreamError: it is too large, or breaks off."""
    parts: list[bytes] = []
    size = 0
    try:
        async for part in response.content.iter_any():
            size += len(part)
            if size > MAX_WHOLE_BYTES:
                raise UpstreamError(f"the upstream's reply exceeds {MAX_WHOLE_BYTES} bytes")
            parts.append(part)
    except FAILURES as error:
        raise failed(error) from error
    return b"".join(parts)


def plain(response: aiohttp.ClientResponse, body: bytes) -> web.Response:
    return web.Response(status=response.status, headers=response_headers(response), body=body)


async def relay_stream(
    http: web.Request,
    response: aiohttp.ClientResponse,
    stream: Stream,
    *,
    keep_alive: float,
    silence: float,
) -> web.StreamResponse:
    """Pass events on as the stream gives them, with a sign of life when nothing else is written
    for ``keep_alive`` seconds. A fault reaches the client as an error event, never as an end."""
    headers = response_headers(response)
    headers["Content-Type"] = f"{EVENT_STREAM}; charset=utf-8"
    out = web.StreamResponse(status=response.status, headers=headers)
    await out.prepare(http)
    parser = SseParser()
    clock = asyncio.get_running_loop().time
    written = heard = clock()
    read = asyncio.ensure_future(response.content.readany())
    try:
        while True:
            until = min(written + keep_alive, heard + silence)
            await asyncio.wait({read}, timeout=max(until - clock(), 0))
            ready = b""
            if read.done():
                heard = clock()
                chunk = read.result()
                for event in parser.feed(chunk) if chunk else parser.end():
                    ready += await stream.feed(event)
                if not chunk:
                    await out.write(ready)
                    await stream.end()
                    break
                read = asyncio.ensure_future(response.content.readany())
            elif clock() - heard >= silence:
                raise TimeoutError
            if not ready and clock() - written >= keep_alive:
                ready = stream.keep_alive()
            if ready:
                await out.write(ready)
                written = clock()
    except WireError as error:
        await out.write(stream.fail(error))
    except FAILURES as error:
        if http.transport is None or http.transport.is_closing():
            raise  # the client is gone
        await out.write(stream.fail(failed(error)))
    except Exception:  # a bug of ours, or of a rule: the client must still learn of it
        log.exception("the gateway failed on a reply")
        await out.write(stream.fail(our_fault()))
    finally:
        read.cancel()
    await out.write_eof()
    return out


async def relay_other(
    http: web.Request, response: aiohttp.ClientResponse, stream: Stream, *, silence: float
) -> web.StreamResponse:
    """Pass the answer of a route that carries no conversation, unless it carries a call after
    all: some servers take several spellings for one route.

    :raises UpstreamError: it does.
    """
    kind = response.content_type
    if kind == EVENT_STREAM:
        return await relay_stream(http, response, stream, keep_alive=silence, silence=silence)
    body = await read_whole(response)
    if not kind.startswith(_BINARY):
        _refuse_calls(body)
    return plain(response, body)


def _refuse_calls(body: bytes) -> None:
    start = body.lstrip()[:1]
    if start == b"{":
        values = [read_object(body)]
    elif start == b"[":
        values = [read_object(b'{"list":' + body + b"}")]
    else:
        parser = SseParser()
        values = [_object(event.data) for event in (*parser.feed(body), *parser.end())]
    if any(carries_call(value) for value in values):
        raise unreadable()


def _object(data: bytes) -> dict[str, object]:
    return read_object(data) if data.lstrip()[:1] == b"{" else {}


class OtherStream:
    """Events of a route that carries no conversation."""

    def __init__(self, describe: WireErrorText) -> None:
        self._describe = describe

    async def feed(self, event: SseEvent) -> bytes:
        if event.data.lstrip()[:1] != b"{":
            return encode(event.data.replace(b"\n", b"\ndata: "), event.event)
        data = read_object(event.data)
        if carries_call(data):
            raise unreadable()
        return encode(write_json(data), event.event)

    async def end(self) -> None:
        return

    def keep_alive(self) -> bytes:
        return COMMENT

    def fail(self, error: WireError) -> bytes:
        return encode(self._describe(error), "error")
