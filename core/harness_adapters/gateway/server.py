"""The gateway's HTTP side: who may ask, where to, and how a held reply is delivered."""

from __future__ import annotations

import asyncio
import hashlib
import secrets
from collections.abc import Awaitable, Callable
from functools import lru_cache
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

from aiohttp import web

from harness_adapters.errors import BadInput
from harness_adapters.gateway.delivery import JSON, Held, deliver, headers_for, hold
from harness_adapters.gateway.dialects.base import Dialect, Envelope, ModelReply, ModelRequest
from harness_adapters.gateway.dialects.chat import ChatDialect
from harness_adapters.gateway.dialects.messages import MessagesDialect
from harness_adapters.gateway.dialects.models import model_card, model_list
from harness_adapters.gateway.dialects.responses import ResponsesDialect
from harness_adapters.gateway.failures import (
    Refused,
    UpstreamError,
    WireError,
    reading,
    session_closed,
)
from harness_adapters.gateway.intake import MAX_BODY_BYTES as MAX_BODY_BYTES
from harness_adapters.gateway.judging import Judge
from harness_adapters.gateway.pace import Pace
from harness_adapters.gateway.sessions import GatewaySession
from harness_adapters.gateway.upstream import Upstream
from harness_adapters.types import AuxiliaryRequest, Limits, Sampling, TaskPolicy

LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
SHUTDOWN_SECONDS = 1.0
BACKLOG = 1024  # as many may connect at one moment; a unix socket refuses the next one
RETRY_HEADER = "x-stainless-retry-count"

CHAT = ChatDialect()
MESSAGES = MessagesDialect()
RESPONSES = ResponsesDialect()
_Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Gateway:
    """A reverse proxy that gives each session exact token capture and a guard; an async context
    manager that serves in the running event loop.

    :param upstream: the engine; opened and closed with the gateway.
    :param socket: unix socket to serve on.
    :param port: loopback TCP port to serve on; 0 picks a free one.
    :param host: loopback address to bind to; any other is refused.
    :raises BadInput: neither is given, or ``host`` is not loopback; on entering: it cannot bind
        there.
    """

    def __init__(
        self,
        *,
        upstream: Upstream,
        guard: Judge,
        socket: Path | None = None,
        port: int | None = None,
        host: str = "127.0.0.1",
    ) -> None:
        if socket is None and port is None:
            raise BadInput("the gateway needs a socket or a port to serve on")
        if host not in LOOPBACK:
            raise BadInput(f"the gateway serves on loopback only, not on {host!r}")
        self._upstream = upstream
        self._guard = guard
        self._socket = socket
        self._host = host
        self._port = port
        self._pace = Pace()
        self._sessions: dict[str, GatewaySession] = {}
        self._runner: web.AppRunner | None = None
        self._bound = False  # the socket is ours to remove

    @property
    def socket(self) -> Path | None:
        """The unix socket that is served: a sandbox's outlet."""
        return self._socket

    @property
    def port(self) -> int:
        """The TCP port that is served; only for a gateway with one, while it runs."""
        if self._port is None:
            raise BadInput("this gateway serves on no port")
        return self._port

    @property
    def url(self) -> str:
        """Origin of the TCP side; append a session's ``path``."""
        host = f"[{self._host}]" if ":" in self._host else self._host
        return f"http://{host}:{self.port}"

    async def __aenter__(self) -> Self:
        await self._upstream.__aenter__()
        self._runner = web.AppRunner(
            self._app(),
            access_log=None,
            handler_cancellation=True,  # a client that leaves cancels the engine's work
            shutdown_timeout=SHUTDOWN_SECONDS,
        )
        try:
            await self._runner.setup()
            await self._bind(self._runner)
        except BaseException:
            await self.__aexit__(None, None, None)
            raise
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for session in list(self._sessions.values()):
            session.close()
        if self._runner is not None:
            await self._runner.cleanup()
        if self._bound and self._socket is not None:
            self._socket.unlink(missing_ok=True)
        await self._upstream.__aexit__(kind, error, trace)

    async def probe_logprobs(self, model: str) -> bool | None:
        """Before training: find out whether the engine's logprobs are raw. If so, its sessions are
        eval-only, and one that requires tokens fails.

        :return: whether they are; ``None`` when it cannot be told.
        :raises UpstreamError: the engine does not answer.
        """
        return await self._upstream.probe_logprobs(model)

    def open_session(
        self,
        *,
        model: str,
        policy: TaskPolicy | None = None,
        limits: Limits | None = None,
        sampling: Sampling | None = None,
        auxiliary: tuple[AuxiliaryRequest, ...] = (),
        require_tokens: bool = False,
    ) -> GatewaySession:
        """A new session with a fresh key.

        :param model: goes into every request to the engine, whatever the harness asks for.
        :param auxiliary: side requests that are served though they declare no tools.
        :param require_tokens: a reply without exact tokens is an error (training), instead of
            making the session eval-only.
        """
        session = GatewaySession(
            key=secrets.token_hex(16),
            model=model,
            policy=policy or TaskPolicy(),
            limits=limits or Limits(),
            sampling=sampling or Sampling(),
            auxiliary=auxiliary,
            require_tokens=require_tokens,
            upstream=self._upstream,
            guard=self._guard,
            pace=self._pace,
            on_close=self._forget,
        )
        self._sessions[session.key] = session
        return session

    def _forget(self, session: GatewaySession) -> None:
        self._sessions.pop(session.key, None)

    async def _bind(self, runner: web.AppRunner) -> None:
        if self._socket is not None:
            try:
                await web.UnixSite(runner, str(self._socket), backlog=BACKLOG).start()
                # whoever can reach the socket's folder may connect: sandboxed users have other uids
                self._socket.chmod(0o666)
                self._bound = True
            except OSError as error:
                raise BadInput(f"cannot serve on the socket {self._socket}: {error}") from error
        if self._port is not None:
            site = web.TCPSite(runner, self._host, self._port, backlog=BACKLOG)
            try:
                await site.start()
            except OSError as error:
                raise BadInput(
                    f"cannot serve on port {self._port}: {error.strerror or error}"
                ) from error
            self._port = runner.addresses[-1][1]

    def _app(self) -> web.Application:
        app = web.Application()  # bodies are read by each session's intake
        app.router.add_get("/health", _guarded(self._health, CHAT))
        for prefix in ("", "/s/{key}"):
            for path, dialect in (
                ("/v1/chat/completions", CHAT),
                ("/v1/messages", MESSAGES),
                ("/v1/responses", RESPONSES),
            ):
                app.router.add_post(prefix + path, _guarded(self._serving(dialect), dialect))
            counting = _guarded(self._count_tokens, MESSAGES)
            app.router.add_post(f"{prefix}/v1/messages/count_tokens", counting)
            for base in ("/v1", "/api/v1", ""):  # some harnesses look for models outside /v1
                app.router.add_get(f"{prefix}{base}/models", _guarded(self._models, CHAT))
                app.router.add_get(f"{prefix}{base}/models/{{id:.+}}", _guarded(self._model, CHAT))
        app.router.add_route("*", "/{rest:.*}", _guarded(self._nothing, CHAT))
        return app

    async def _health(self, http: web.Request) -> web.StreamResponse:
        return web.json_response({"status": "ok"})

    async def _nothing(self, http: web.Request) -> web.StreamResponse:
        raise Refused(f"nothing is served at {http.method} {http.path}", status=404)

    async def _models(self, http: web.Request) -> web.StreamResponse:
        return web.json_response(model_list([self._session(http).model]))

    async def _model(self, http: web.Request) -> web.StreamResponse:
        model = self._session(http).model
        if http.match_info["id"] != model:
            raise Refused("this session has no such model", status=404, code="model_not_found")
        return web.json_response(model_card(model))

    async def _count_tokens(self, http: web.Request) -> web.StreamResponse:
        session = self._session(http)
        session.admit_estimate()
        with session.attend(http.transport):
            async with session.intake.body(http) as body:
                with reading("the request"):
                    estimate = MESSAGES.count_tokens(body)
        return web.Response(body=estimate, headers=headers_for(JSON))

    def _serving(self, dialect: Dialect) -> _Handler:
        return lambda http: self._serve(http, dialect)

    async def _serve(self, http: web.Request, dialect: Dialect) -> web.StreamResponse:
        session = self._session(http)
        in_budget = session.admit()
        with session.attend(http.transport):
            async with session.intake.body(http) as body:
                await self._pace.turn()
                with reading("the request"):
                    request = dialect.read(body)
                digest = hashlib.blake2b(body, digest_size=16).digest()
                del body
                return await self._answer(http, dialect, session, request, digest, in_budget)

    async def _answer(
        self,
        http: web.Request,
        dialect: Dialect,
        session: GatewaySession,
        request: ModelRequest,
        digest: bytes,
        in_budget: bool,
    ) -> web.StreamResponse:
        envelope = Envelope.new(session.model, prefix=dialect.id_prefix)
        work = session.start(
            request,
            envelope=envelope,
            digest=digest,
            retry=http.headers.get(RETRY_HEADER, "0") != "0",
            in_budget=in_budget,
        )
        held: Held | None = None
        try:
            if request.stream:
                held = await hold(http, dialect, envelope, work)
            reply = await _outcome(work, session)
        except WireError as error:
            if held is None:
                raise
            event = dialect.stream_error(envelope, error, waited=held.waited)
            await held.response.write(event)
            return held.response
        finally:
            work.cancel()
        response = await deliver(http, dialect, request, reply, held)
        session.delivered(reply)
        return response

    def _session(self, http: web.Request) -> GatewaySession:
        """The session of a request: by its API key, else by its path.

        :raises Refused: neither is known.
        """
        scheme, _, token = http.headers.get("Authorization", "").partition(" ")
        session = self._sessions.get(token.strip()) if scheme.lower() == "bearer" else None
        session = session or self._sessions.get(http.headers.get("x-api-key", "").strip())
        session = session or self._sessions.get(http.match_info.get("key", ""))
        if session is None:
            raise Refused("unknown session key", status=401, code="invalid_api_key")
        return session


async def _outcome(work: asyncio.Task[ModelReply], session: GatewaySession) -> ModelReply:
    try:
        return await work
    except asyncio.CancelledError:
        if session.closed and work.cancelled():
            raise session_closed() from None
        raise


def _guarded(handler: _Handler, dialect: Dialect) -> _Handler:
    """A route: checked for where it comes from, with errors in its dialect's shape."""

    async def answer(http: web.Request) -> web.StreamResponse:
        try:
            _check_origin(http)
            return await handler(http)
        except WireError as failed:
            error = failed
        except ConnectionError:
            return web.Response(status=499)  # the client is gone; nobody reads this
        headers = headers_for(JSON)
        if isinstance(error, UpstreamError) and error.retry_after is not None:
            headers["Retry-After"] = error.retry_after
        return web.Response(body=dialect.error(error), status=error.status, headers=headers)

    return answer


def _check_origin(http: web.Request) -> None:
    """Loopback is not private: a web page may send requests here, under a name of its own.

    :raises Refused: ``Host`` or ``Origin`` is no loopback name.
    """
    origin = http.headers.get("Origin")
    if not _is_loopback(f"//{http.host}") or (origin is not None and not _is_loopback(origin)):
        raise Refused("only loopback clients are served", status=403, code="forbidden_origin")


@lru_cache(maxsize=64)
def _is_loopback(url: str) -> bool:
    try:
        return urlsplit(url).hostname in LOOPBACK
    except ValueError:
        return False
