"""How a reply reaches a client that waits: whole, or as a stream that is kept alive meanwhile."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from aiohttp import web

from harness_adapters.gateway.dialects.base import Dialect, Envelope, ModelReply, ModelRequest

KEEP_ALIVE_SECONDS = 5.0
EVENT_STREAM = "text/event-stream"
JSON = "application/json"


@dataclass(slots=True, kw_only=True)
class Held:
    """A stream that has begun, since the reply takes its time.

    :ivar waited: keep-alives written so far.
    """

    response: web.StreamResponse
    waited: int = 0


async def hold(
    http: web.Request, dialect: Dialect, envelope: Envelope, work: asyncio.Task[ModelReply]
) -> Held | None:
    """Keep a streaming client waiting. ``None`` when the outcome is there before the first
    keep-alive: then nothing is sent yet, and a failure can still have its own HTTP status."""
    held: Held | None = None
    while True:
        done, _ = await asyncio.wait({work}, timeout=KEEP_ALIVE_SECONDS)
        if done:
            return held
        if held is None:
            held = Held(response=web.StreamResponse(headers=headers_for(EVENT_STREAM)))
            await held.response.prepare(http)
            await held.response.write(dialect.stream_start(envelope))
        else:
            await held.response.write(dialect.keep_alive(envelope, waited=held.waited))
            held.waited += 1


async def deliver(
    http: web.Request,
    dialect: Dialect,
    request: ModelRequest,
    reply: ModelReply,
    held: Held | None,
) -> web.StreamResponse:
    """Write the reply. Its turn is committed: whatever the client does now, it is not lost."""
    if held is not None:
        await held.response.write(dialect.stream_rest(request, reply, waited=held.waited))
        return held.response
    if request.stream:
        body = dialect.stream_start(reply.envelope)
        body += dialect.stream_rest(request, reply, waited=0)
        response = web.Response(body=body, headers=headers_for(EVENT_STREAM))
    else:
        response = web.Response(body=dialect.whole(request, reply), headers=headers_for(JSON))
    await response.prepare(http)
    await response.write_eof()
    return response


def headers_for(content_type: str) -> dict[str, str]:
    return {"Content-Type": content_type, "Cache-Control": "no-cache"}
