"""The engine behind the gateway: one POST per turn over a pool of kept-alive connections."""

from __future__ import annotations

import logging
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit

import orjson

from harness_adapters.errors import BadInput
from harness_adapters.gateway.engine_http import HttpPool, Lost, Malformed, Reply
from harness_adapters.gateway.failures import TokenError, UpstreamError
from harness_adapters.gateway.raw_logprobs import FIX, are_raw

log = logging.getLogger(__name__)

MAX_REPLY_BYTES = 256 * 1024 * 1024
MAX_ERROR_BYTES = 64 * 1024


class Upstream:
    """A client of one OpenAI-compatible engine; an async context manager.

    :param base_url: ``http(s)://host:port``, with or without ``/v1``.
    :param api_key: sent as a bearer token.
    :raises BadInput: ``base_url`` is no such URL.
    """

    def __init__(self, base_url: str, api_key: str | None = None) -> None:
        try:
            parts = urlsplit(base_url)
            usable = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
        except ValueError:  # no port, no address
            usable = False
        if not usable or not base_url.isascii() or not base_url.isprintable():
            raise BadInput(f"the engine must be an http(s) URL, not {base_url!r}")
        if api_key and not (api_key.isascii() and api_key.isprintable()):
            raise BadInput("the engine's API key holds characters that cannot be sent")
        self.base_url = base_url.rstrip("/").removesuffix("/v1")
        self._headers = {"Content-Type": "application/json", "Accept-Encoding": "identity"}
        if api_key:
            self._headers["Authorization"] = f"Bearer {api_key}"
        self._http: HttpPool | None = None
        self._told = False
        self._raw_logprobs = False

    async def __aenter__(self) -> Self:
        self._http = HttpPool(self.base_url, self._headers, limit=MAX_REPLY_BYTES)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._http is not None:
            self._http.close()
            self._http = None

    async def complete(self, body: bytes) -> dict[str, Any]:
        """One chat completion, not streamed.

        :raises UpstreamError: no reply, an error status, or a reply that is no JSON object.
        """
        try:
            try:
                reply = await self._post(body)
            except Lost as lost:
                if not lost.unread:  # the engine may have worked on it: it is not asked twice
                    raise
                reply = await self._post(body)
        except Malformed as error:
            raise UpstreamError(f"the engine's reply cannot be read: {error}") from error
        except OSError as error:  # also what takes too long
            raise _unreachable(error) from error
        if reply.status != 200:
            raise _refusal(reply)
        if reply.headers.get("content-encoding", "identity") != "identity":
            raise UpstreamError("the engine's reply is compressed, which it was asked not to be")
        return _parse(reply.body)

    async def probe_logprobs(self, model: str) -> bool | None:
        """Find out whether it returns logprobs from before the temperature, as vLLM does unless
        told otherwise: nothing that comes with those can be trained on. Asks six short requests.

        :return: whether they are raw; ``None`` when it cannot be told, as of an engine that lists
            no alternatives to what it sampled.
        :raises UpstreamError: it does not answer.
        """

        async def ask(fields: dict[str, Any]) -> dict[str, Any]:
            return await self.complete(orjson.dumps({**fields, "model": model, "stream": False}))

        try:
            raw = await are_raw(ask)
        except UpstreamError as error:
            if error.infra:
                raise
            return None
        self._raw_logprobs = bool(raw)
        return raw

    def check_logprobs(self) -> None:
        """:raises TokenError: they were found to be raw."""
        if self._raw_logprobs:
            raise TokenError(f"the engine's logprobs are raw: {FIX}")

    def warn_eval_only(self, reason: str) -> None:
        """Say once, loudly, that nothing captured from this engine can be trained on."""
        if not self._told:
            self._told = True
            log.warning(
                "%s: nothing to train on comes back (%s): sessions are eval-only",
                self.base_url,
                reason,
            )

    async def _post(self, body: bytes) -> Reply:
        if self._http is None:
            raise RuntimeError("Upstream is used outside its context")
        return await self._http.post("/v1/chat/completions", body)


def _parse(raw: bytes) -> dict[str, Any]:
    try:
        reply = orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        raise UpstreamError(f"the engine's reply is not JSON: {error}") from None
    if not isinstance(reply, dict):
        raise UpstreamError("the engine's reply is no JSON object")
    return reply


def _refusal(reply: Reply) -> UpstreamError:
    raw = reply.body[:MAX_ERROR_BYTES]
    body: bytes | None = None
    detail = raw[:300].decode(errors="replace")
    try:
        error = orjson.loads(raw)["error"]
        body, detail = raw, str(error["message"])
    except (orjson.JSONDecodeError, KeyError, TypeError):
        pass  # not in OpenAI's shape: wrapped by the dialect
    status = reply.status if reply.status >= 400 else 502
    return UpstreamError(
        f"the engine answered {reply.status}: {detail}",
        status=status,
        retry_after=reply.headers.get("retry-after"),
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
