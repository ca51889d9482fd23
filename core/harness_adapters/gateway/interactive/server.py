"""The interactive gateway: a pass-through that lets through only the tool calls it has judged."""

from __future__ import annotations

import asyncio
import logging
import re
import secrets
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any, Self

import aiohttp
from aiohttp import web

from harness_adapters.errors import BadInput
from harness_adapters.gateway.delivery import EVENT_STREAM, JSON, headers_for
from harness_adapters.gateway.dialects.base import parse_object
from harness_adapters.gateway.failures import Refused, UpstreamError, WireError
from harness_adapters.gateway.interactive.allowances import Allowed, GuardFile
from harness_adapters.gateway.interactive.base import Protocols, our_fault
from harness_adapters.gateway.interactive.chat import ChatCompletions
from harness_adapters.gateway.interactive.door import SessionDoor, Sessions
from harness_adapters.gateway.interactive.forward import Forward
from harness_adapters.gateway.interactive.messages import Messages
from harness_adapters.gateway.interactive.origins import LOOPBACK, is_loopback
from harness_adapters.gateway.interactive.relay import (
    OtherStream,
    plain,
    read_whole,
    relay_other,
    relay_stream,
)
from harness_adapters.gateway.interactive.responses import Responses
from harness_adapters.gateway.interactive.verdicts import Verdicts
from harness_adapters.gateway.interactive.wire_json import read_object, write_json
from harness_adapters.gateway.judging import Judge

log = logging.getLogger(__name__)

MAX_BODY_BYTES = 64 * 1024 * 1024
SHUTDOWN_SECONDS = 1.0
KEEP_ALIVE_SECONDS = 10.0
SILENCE_SECONDS = 600.0
DEFAULT_SESSION = "default"
MIN_ADMIN_KEY = 16
_SESSION = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,63}")

CHAT = ChatCompletions()
PROTOCOLS: dict[str, Protocols] = {
    "/chat/completions": CHAT,
    "/messages": Messages(),
    "/responses": Responses(),
}
_Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class InteractiveGateway:
    """Serves one upstream to the agents of one person; an async context manager.

    A client reaches it below ``/k/<client key>/s/<session>``, or without the session part for the
    session ``default``. The key stands in the path since the header that could carry it already
    carries the person's own credential for the upstream, which is passed on and never kept.

    :param decisions: the project's ``guard.toml``.
    :param verdicts: where decisions about calls are kept; closed with the gateway.
    :param project: the folder that agents work in.
    :param host: address to bind to; one that is not loopback needs an ``admin_key``.
    :param admin_key: for the routes below ``/admin``; by default a fresh one.
    :param keep_alive: seconds without a byte to the client before a sign of life.
    :param silence: seconds without a byte from the upstream before it counts as gone.
    :raises BadInput: an unfit ``upstream``, ``host`` or ``admin_key``; on entering: it cannot
        bind there.
    """

    def __init__(
        self,
        upstream: str,
        *,
        guard: Judge,
        decisions: GuardFile,
        verdicts: Verdicts,
        project: Path,
        log_only: bool = False,
        host: str = "127.0.0.1",
        port: int = 0,
        admin_key: str | None = None,
        keep_alive: float = KEEP_ALIVE_SECONDS,
        silence: float = SILENCE_SECONDS,
    ) -> None:
        if host not in LOOPBACK and not admin_key:
            raise BadInput(f"to serve on {host!r}, where others can reach it, give an --admin-key")
        if admin_key is not None and len(admin_key) < MIN_ADMIN_KEY:
            raise BadInput(f"an admin key needs at least {MIN_ADMIN_KEY} characters")
        self._forward = Forward(upstream, silence=silence)
        self._guard = guard
        self._decisions = decisions
        self._verdicts = verdicts
        self._sessions = Sessions(project)
        self._log_only = log_only
        self._host = host
        self.port = port
        self.client_key = secrets.token_hex(16)
        self.admin_key = admin_key or secrets.token_hex(16)
        self._keep_alive = keep_alive
        self._silence = silence
        self._runner: web.AppRunner | None = None
        self._stop = asyncio.Event()

    @property
    def origin(self) -> str:
        """Where clients on this machine find it."""
        host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(self._host, self._host)
        return f"http://[{host}]:{self.port}" if ":" in host else f"http://{host}:{self.port}"

    @property
    def upstream(self) -> str:
        return self._forward.base_url

    def url(self, session: str = DEFAULT_SESSION) -> str:
        """What a client appends ``/v1/...`` to. It holds the client key."""
        return f"{self.origin}/k/{self.client_key}/s/{session}"

    async def stopped(self) -> None:
        """Wait until the admin route asks for the end."""
        await self._stop.wait()

    async def __aenter__(self) -> Self:
        await self._forward.__aenter__()
        self._runner = web.AppRunner(
            self._app(),
            access_log=None,
            handler_cancellation=True,
            shutdown_timeout=SHUTDOWN_SECONDS,
        )
        try:
            await self._runner.setup()
            await web.TCPSite(self._runner, self._host, self.port).start()
        except OSError as error:
            await self.__aexit__()
            reason = error.strerror or error
            raise BadInput(f"cannot serve on {self._host} port {self.port}: {reason}") from error
        except BaseException:
            await self.__aexit__()
            raise
        self.port = self._runner.addresses[0][1]
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._runner is not None:
            await self._runner.cleanup()
        await self._forward.__aexit__()
        self._verdicts.close()

    def _app(self) -> web.Application:
        app = web.Application(client_max_size=MAX_BODY_BYTES)
        app.router.add_get("/health", self._guarded(_health))
        app.router.add_get("/admin/status", self._guarded(self._status))
        app.router.add_get("/admin/verdicts", self._guarded(self._recent))
        app.router.add_post("/admin/allow", self._guarded(self._allow))
        app.router.add_post("/admin/stop", self._guarded(self._end))
        app.router.add_route("*", "/{rest:.*}", self._guarded(self._pass))
        return app

    # --- for clients ----------------------------------------------------------------------------

    async def _pass(self, http: web.Request) -> web.StreamResponse:
        name, tail = self._place(http)
        if http.method not in ("GET", "POST", "HEAD", "DELETE"):
            raise Refused(f"{http.method} is not served here", status=405)
        if "Upgrade" in http.headers:
            raise Refused("only plain HTTP is served here", status=426, code="no_upgrade")
        body = await http.read()
        protocol = _protocol(http.method, tail)
        if protocol is None:
            async with self._forward.send(http, tail, body) as response:
                other = OtherStream(CHAT.error)
                return await relay_other(http, response, other, silence=self._silence)
        request = parse_object(body)
        if request.get("n") not in (None, 1):
            raise Refused("only n = 1 is served here", code="unsupported_parameter")
        if self._decisions.current().strip_server_tools:
            body = write_json(_without_empty_tools(protocol.without_server_tools(request)))
        door = SessionDoor(
            self._sessions.get(name),
            protocol.asked(request),
            guard=self._guard,
            decisions=self._decisions,
            verdicts=self._verdicts,
            log_only=self._log_only,
        )
        async with self._forward.send(http, tail, body) as response:
            return await self._answer(http, response, protocol, door)

    async def _answer(
        self,
        http: web.Request,
        response: aiohttp.ClientResponse,
        protocol: Protocols,
        door: SessionDoor,
    ) -> web.StreamResponse:
        if response.status >= 400:
            return plain(response, await read_whole(response))
        if response.content_type == EVENT_STREAM:
            return await relay_stream(
                http,
                response,
                protocol.stream(door),
                keep_alive=self._keep_alive,
                silence=self._silence,
            )
        reply = read_object(await read_whole(response))
        return plain(response, write_json(await protocol.whole(reply, door)))

    def _place(self, http: web.Request) -> tuple[str, str]:
        """Session and rest of the path, still escaped as the client sent it.

        :raises Refused: the client key is missing or wrong; it does not say which.
        """
        parts = http.rel_url.raw_path.split("/")[1:]
        key = parts[1] if len(parts) > 2 and parts[0] == "k" else ""
        if not secrets.compare_digest(key.encode(), self.client_key.encode()):
            raise Refused("nothing is served here", status=404, code="not_found")
        name, rest = DEFAULT_SESSION, parts[2:]
        if rest[0] == "s" and len(rest) > 2:
            name, rest = rest[1], rest[2:]
        if not _SESSION.fullmatch(name):
            raise Refused("a session name is 1 to 64 letters, digits, dashes and inner dots")
        if any(part in (".", "..") for part in rest):
            raise Refused("the path must not lead elsewhere")
        return name, "/" + "/".join(rest)

    # --- for the person -------------------------------------------------------------------------

    async def _status(self, http: web.Request) -> web.StreamResponse:
        decisions = self._decisions.current()
        return web.json_response(
            {
                "sessions": len(self._sessions),
                "log_only": self._log_only or decisions.log_only,
                "policy": self._guard.policy_hash,
                "calls_allowed": self._verdicts.allowed,
                "guard_toml": str(self._decisions.path),
                "problem": self._decisions.problem,
            }
        )

    async def _recent(self, http: web.Request) -> web.StreamResponse:
        return web.json_response({"verdicts": [asdict(one) for one in self._verdicts.recent()]})

    async def _allow(self, http: web.Request) -> web.StreamResponse:
        asked = parse_object(await http.read())
        id = str(asked.get("id"))
        found = self._verdicts.find(id)
        if found is None or not found.call:
            raise Refused(f"no blocked call {id!r} is known here", status=404, code="not_found")
        once = asked.get("always") is not True
        try:
            self._decisions.add(
                [
                    Allowed(rule=rule, call=found.call, once=once, note=found.tool)
                    for rule in found.rules
                ]
            )
        except BadInput as error:
            raise Refused(str(error), status=409, code="guard_toml") from error
        return web.json_response({"id": id, "tool": found.tool, "rules": found.rules, "once": once})

    async def _end(self, http: web.Request) -> web.StreamResponse:
        self._stop.set()
        return web.json_response({"status": "stopping"})

    # --- for everyone ---------------------------------------------------------------------------

    def _guarded(self, handler: _Handler) -> _Handler:
        """A route: checked for where it comes from, with errors in its protocol's shape."""

        async def answer(http: web.Request) -> web.StreamResponse:
            protocol = _protocol(http.method, http.rel_url.raw_path) or CHAT
            try:
                self._check_origin(http)
                return await handler(http)
            except WireError as failed:
                error = failed
            except web.HTTPRequestEntityTooLarge:
                error = Refused("the request body is too large", status=413, code="body_too_large")
            except ConnectionError:
                return web.Response(status=499)  # the client is gone; nobody reads this
            except Exception:  # a bug of ours, or of a rule: the client must still learn of it
                log.exception("the gateway failed on a request")
                error = our_fault()
            headers = headers_for(JSON)
            if isinstance(error, UpstreamError) and error.retry_after is not None:
                headers["Retry-After"] = error.retry_after
            return web.Response(body=protocol.error(error), status=error.status, headers=headers)

        return answer

    def _check_origin(self, http: web.Request) -> None:
        """A web page can send requests here, and a name of its own can lead here.

        :raises Refused: it comes from one, or the admin key is missing.
        """
        origin = http.headers.get("Origin")
        foreign = origin is not None and not is_loopback(origin)
        if self._host in LOOPBACK:
            foreign = foreign or not is_loopback(f"//{http.host}")
        if foreign:
            raise Refused("only loopback clients are served", status=403, code="forbidden_origin")
        if http.path.startswith("/admin/"):
            _, _, given = http.headers.get("Authorization", "").partition(" ")
            if not secrets.compare_digest(given.strip().encode(), self.admin_key.encode()):
                raise Refused("this needs the admin key", status=401, code="invalid_admin_key")


async def _health(http: web.Request) -> web.StreamResponse:
    return web.json_response({"status": "ok"})


def _protocol(method: str, path: str) -> Protocols | None:
    if method != "POST":
        return None
    return next((one for end, one in PROTOCOLS.items() if path.endswith(end)), None)


def _without_empty_tools(request: dict[str, Any]) -> dict[str, Any]:
    """Upstreams answer 400 to a choice among no tools."""
    if request.get("tools") != []:
        return request
    dropped = ("tools", "tool_choice", "parallel_tool_calls")
    return {key: value for key, value in request.items() if key not in dropped}
