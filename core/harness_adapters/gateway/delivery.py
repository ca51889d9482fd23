"""How a reply reaches a client that waits: whole, or as a stream that is kept alive meanwhile."""

from __future__ import annotations

import asyncio

from aiohttp import web

from harness_adapters.gateway.dialects.base import Dialect, Envelope, ModelReply, ModelRequest

KEEP_ALIVE_SECONDS = 5.0
EVENT_STREAM = "text/event-stream"
JSON = "application/json"


async def hold(
    http: web.Request, dialect: Dialect, envelope: Envelope, work: asyncio.Task[ModelReply]
) -> web.StreamResponse | None:
    """Keep a streaming client waiting. ``None`` when the outcome is there before the first
    keep-alive: then nothing is sent yet, and a failure can still have its own HTTP status."""
    held: web.StreamResponse | None = None
    while True:
        done, _ = await asyncio.wait({work}, timeout=KEEP_ALIVE_SECONDS)
        if done:
            return held
        if held is None:
            held = web.StreamResponse(headers=headers_for(EVENT_STREAM))
            await held.prepare(http)
            await held.write(dialect.stream_start(envelope))
        else:
            await held.write(dialect.keep_alive(envelope))


async def deliver(
    http: web.Request,
    dialect: Dialect,
    request: ModelRequest,
    reply: ModelReply,
    held: web.StreamResponse | None,
) -> web.StreamResponse:
    """Write the reply. Its turn is committed: whatever the client does now, it is not lost."""
    if held is not None:
        await held.write(dialect.stream_rest(reply, include_usage=request.include_usage))
        return held
    if request.stream:
        body = dialect.stream_start(reply.envelope)
        body += dialect.stream_rest(reply, include_usage=request.include_usage)
        response = web.Response(body=body, headers=headers_for(EVENT_STREAM))
    else:
        response = web.Response(body=dialect.whole(reply), headers=headers_for(JSON))
    await response.prepare(http)
    await response.write_eof()
    return response


def headers_for(content_type: str) -> dict[str, str]:
    return {"Content-Type": content_type, "Cache-Control": "no-cache"}
