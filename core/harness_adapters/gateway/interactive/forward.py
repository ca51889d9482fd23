"""The upstream side: the client's request as it goes on, and what of the answer comes back."""

from __future__ import annotations

import io
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

import aiohttp
from aiohttp import web
from multidict import CIMultiDict
from yarl import URL

from harness_adapters.errors import BadInput
from harness_adapters.gateway.engine_http import CONNECT_SECONDS, IDLE_SECONDS
from harness_adapters.gateway.failures import UpstreamError

FAILURES = (aiohttp.ClientError, ConnectionError, TimeoutError)
_HOP_BY_HOP = frozenset(
    (
        "connection",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    )
)
# set anew by us, or about the connection between client and gateway
_NOT_SENT = _HOP_BY_HOP | {
    "host",
    "content-length",
    "content-encoding",  # the body was decoded to be read
    "accept-encoding",
    "origin",
    "referer",
    "cookie",
    "expect",
    "forwarded",
}
# would speak for our own address in the upstream's name
_NOT_RETURNED = _HOP_BY_HOP | {
    "content-length",
    "content-encoding",
    "set-cookie",
    "alt-svc",
    "strict-transport-security",
    "server",
    "date",
}


class Forward:
    """A client of one upstream; an async context manager.

    :param base_url: ``http(s)://host[:port][/path]``; a trailing ``/v1`` may be there or not.
    :param silence: seconds without a byte after which the upstream counts as gone.
    :raises BadInput: ``base_url`` is no such URL.
    """

    def __init__(self, base_url: str, *, silence: float) -> None:
        parts = urlsplit(base_url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.query:
            raise BadInput(f"the upstream must be an http(s) URL, not {base_url!r}")
        if parts.username or parts.password:
            raise BadInput("the upstream's URL must hold no credentials; the client sends its own")
        self.base_url = base_url.rstrip("/").removesuffix("/v1")
        self._silence = silence
        self._http: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Forward:
        self._http = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=IDLE_SECONDS),
            timeout=aiohttp.ClientTimeout(
                total=None, sock_connect=CONNECT_SECONDS, sock_read=self._silence
            ),
            cookie_jar=aiohttp.DummyCookieJar(),
            skip_auto_headers=("User-Agent", "Content-Type"),
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._http is not None:
            await self._http.close()
            self._http = None

    @asynccontextmanager
    async def send(
        self, http: web.Request, tail: str, body: bytes
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """Pass a request on, to ``tail`` below the upstream's URL.

        :raises UpstreamError: it could not be reached, was silent, or answered with a redirect,
            which would lead the client around the guard.
        """
        if self._http is None:
            raise RuntimeError("Forward is used outside its context")
        query = f"?{http.rel_url.raw_query_string}" if http.rel_url.raw_query_string else ""
        try:
            async with self._http.request(
                http.method,
                URL(f"{self.base_url}{tail}{query}", encoded=True),
                data=io.BytesIO(body) if body else None,
                headers=_request_headers(http.headers, len(body)),
                allow_redirects=False,
            ) as response:
                if 300 <= response.status < 400:
                    raise UpstreamError("the upstream answered with a redirect; not followed")
                yield response
        except FAILURES as error:
            raise failed(error) from error


def failed(error: BaseException) -> UpstreamError:
    """An error of the connection, typed. It does not name the URL, which may hold an account."""
    if isinstance(error, TimeoutError):
        return UpstreamError(
            "the upstream was silent for too long", status=504, code="upstream_timeout"
        )
    if isinstance(error, aiohttp.ClientConnectorError):
        return UpstreamError("the upstream could not be reached", code="upstream_unreachable")
    return UpstreamError(
        f"the connection to the upstream broke ({type(error).__name__})", code="upstream_cut"
    )


def _request_headers(headers: Mapping[str, str], length: int) -> CIMultiDict[str]:
    sent = _kept(headers, _NOT_SENT)
    sent["Accept-Encoding"] = "identity"
    if length:
        sent["Content-Length"] = str(length)
    return sent


def response_headers(response: aiohttp.ClientResponse) -> CIMultiDict[str]:
    """What of the upstream's headers the client gets: retry-after, limits, request ids ..."""
    return _kept(response.headers, _NOT_RETURNED)


def _kept(headers: Mapping[str, str], dropped: frozenset[str]) -> CIMultiDict[str]:
    also = {name.strip().lower() for name in headers.get("Connection", "").split(",")}
    return CIMultiDict(
        (name, value)
        for name, value in headers.items()
        if name.lower() not in dropped and name.lower() not in also
    )
