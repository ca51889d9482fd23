"""The engine behind the gateway: one POST per turn over a pool of kept-alive connections."""

from __future__ import annotations

import io
import logging
from dataclasses import dataclass
from types import SimpleNamespace, TracebackType
from typing import Any, Self
from urllib.parse import urlsplit

import aiohttp
import orjson

from harness_adapters.errors import BadInput
from harness_adapters.gateway.failures import UpstreamError

log = logging.getLogger(__name__)

CONNECT_SECONDS = 10.0
SILENCE_SECONDS = 600.0
# Shorter than the 5 s after which common engine servers close an idle connection: who closes first
# never sees the other's reset.
IDLE_SECONDS = 4.0
MAX_REPLY_BYTES = 256 * 1024 * 1024
MAX_ERROR_BYTES = 64 * 1024
FAILURES = (aiohttp.ClientError, ConnectionError, TimeoutError)


@dataclass(slots=True)
class _Connection:
    """What became known about the connection of one request."""

    reused: bool = False
    answered: bool = False


class Upstream:
    """A client of one OpenAI-compatible engine; an async context manager.

    :param base_url: ``http(s)://host:port``, with or without ``/v1``.
    :param api_key: sent as a bearer token.
    :raises BadInput: ``base_url`` is no such URL.
    """

    def __init__(self, base_url: str, api_key: str | None = None) -> None:
        parts = urlsplit(base_url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise BadInput(f"the engine must be an http(s) URL, not {base_url!r}")
        self.base_url = base_url.rstrip("/").removesuffix("/v1")
        self._headers = {"Content-Type": "application/json", "Accept-Encoding": "identity"}
        if api_key:
            self._headers["Authorization"] = f"Bearer {api_key}"
        self._http: aiohttp.ClientSession | None = None
        self._told = False

    async def __aenter__(self) -> Self:
        trace = aiohttp.TraceConfig()
        trace.on_connection_reuseconn.append(_mark_reused)
        self._http = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=IDLE_SECONDS),
            timeout=aiohttp.ClientTimeout(
                total=None, sock_connect=CONNECT_SECONDS, sock_read=SILENCE_SECONDS
            ),
            trace_configs=[trace],
            cookie_jar=aiohttp.DummyCookieJar(),
        )
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._http is not None:
            await self._http.close()
            self._http = None

    async def complete(self, body: bytes) -> dict[str, Any]:
        """One chat completion, not streamed.

        :raises UpstreamError: no reply, an error status, or a reply that is no JSON object.
        """
        connection = _Connection()
        try:
            return await self._post(body, connection)
        except FAILURES as error:
            # An idle connection that the engine closed just now: it never read the request.
            stale = connection.reused and not connection.answered
            if not stale or isinstance(error, TimeoutError):
                raise _unreachable(error) from error
        try:
            return await self._post(body, _Connection())
        except FAILURES as error:
            raise _unreachable(error) from error

    def warn_eval_only(self, reason: str) -> None:
        """Say once, loudly, that nothing captured from this engine can be trained on."""
        if not self._told:
            self._told = True
            log.warning(
                "%s returns no usable token ids (%s): sessions are eval-only", self.base_url, reason
            )

    async def _post(self, body: bytes, connection: _Connection) -> dict[str, Any]:
        if self._http is None:
            raise RuntimeError("Upstream is used outside its context")
        async with self._http.post(
            f"{self.base_url}/v1/chat/completions",
            data=io.BytesIO(body),  # sent in parts: a large one does not hold up the loop
            headers=self._headers,
            trace_request_ctx=connection,
            allow_redirects=False,
        ) as response:
            connection.answered = True
            if response.status != 200:
                raise await _refusal(response)
            return _parse(await _read(response, MAX_REPLY_BYTES))


async def _mark_reused(
    session: aiohttp.ClientSession,
    context: SimpleNamespace,
    params: aiohttp.TraceConnectionReuseconnParams,
) -> None:
    context.trace_request_ctx.reused = True


async def _read(response: aiohttp.ClientResponse, limit: int) -> bytes:
    parts: list[bytes] = []
    size = 0
    async for part in response.content.iter_any():
        size += len(part)
        if size > limit:
            raise UpstreamError(f"the engine's reply is larger than {limit} bytes")
        parts.append(part)
    return b"".join(parts)


def _parse(raw: bytes) -> dict[str, Any]:
    try:
        reply = orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        raise UpstreamError(f"the engine's reply is not JSON: {error}") from None
    if not isinstance(reply, dict):
        raise UpstreamError("the engine's reply is no JSON object")
    return reply


async def _refusal(response: aiohttp.ClientResponse) -> UpstreamError:
    raw = (await _read(response, MAX_REPLY_BYTES))[:MAX_ERROR_BYTES]
    body: bytes | None = None
    detail = raw[:300].decode(errors="replace")
    try:
        error = orjson.loads(raw)["error"]
        body, detail = raw, str(error["message"])
    except (orjson.JSONDecodeError, KeyError, TypeError):
        pass  # not in OpenAI's shape: wrapped by the dialect
    status = response.status if response.status >= 400 else 502
    return UpstreamError(
        f"the engine answered {response.status}: {detail}",
        status=status,
        retry_after=response.headers.get("Retry-After"),
        body=body,
    )


def _unreachable(error: BaseException) -> UpstreamError:
    slow = isinstance(error, TimeoutError)
    what = "did not answer in time" if slow else "could not be reached"
    return UpstreamError(
        f"the engine {what}: {error or type(error).__name__}",
        status=504 if slow else 502,
        code="upstream_timeout" if slow else "upstream_unreachable",
    )
