"""Adapters on an engine that runs: load, unload, list, and what it thinks of given tokens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import aiohttp
import orjson

from harness_adapters.errors import HarnessAdaptersError, InfraError

SECONDS = 300.0


class EngineUnreachable(InfraError):
    """No answer from the engine, or none that can be read: it is gone, or no such engine.

    :ivar status: the HTTP status, if there was one.
    """

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


class EngineRefused(HarnessAdaptersError):
    """The engine answered, and said no; the message is its own.

    :ivar status: the HTTP status.
    """

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


class AdapterExists(EngineRefused):
    """An adapter of this name is loaded already."""


class UnknownAdapter(EngineRefused):
    """The engine has no adapter or model of this name."""


class AdapterClient:
    """What a trainer asks one engine for. Use as an async context manager.

    :param url: without ``/v1`` at its end.
    :raises EngineUnreachable: from every method, when there is no readable answer.
    """

    def __init__(self, url: str, api_key: str | None = None) -> None:
        self.url = url
        self._headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        self._http: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> AdapterClient:
        self._http = aiohttp.ClientSession(
            headers=self._headers,
            timeout=aiohttp.ClientTimeout(total=SECONDS),
            # Between two calls a trainer computes for longer than servers keep a connection; one
            # that ends just then would look like an engine that is gone.
            connector=aiohttp.TCPConnector(force_close=True),
        )
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._http:
            await self._http.close()

    async def load(self, name: str, path: Path) -> None:
        """Load a PEFT folder, which the engine must be able to read, under a name.

        :raises AdapterExists: the name is taken.
        :raises EngineRefused: it cannot be read, does not fit the model, or no slot is free.
        """
        body = {"lora_name": name, "lora_path": str(path.absolute())}
        try:
            await self._ask("POST", "/v1/load_lora_adapter", body)
        except EngineRefused as refused:
            if "already been loaded" in str(refused):
                raise AdapterExists(str(refused), refused.status) from None
            raise
        except EngineUnreachable as failed:
            if failed.status is None:
                raise
            await self.names()  # it is well: vLLM answers 500 for a folder that it cannot read
            raise EngineRefused(str(failed), failed.status) from None

    async def unload(self, name: str) -> None:
        """:raises UnknownAdapter: no adapter of this name is loaded."""
        try:
            await self._ask("POST", "/v1/unload_lora_adapter", {"lora_name": name})
        except EngineRefused as refused:
            raise UnknownAdapter(str(refused), refused.status) from None

    async def names(self) -> list[str]:
        """The names of all loaded adapters, in the engine's order."""
        listed = orjson.loads(await self._ask("GET", "/v1/models"))
        try:
            return [str(card["id"]) for card in listed["data"] if card.get("parent")]
        except (KeyError, TypeError, AttributeError):
            raise self._unreadable("/v1/models") from None

    async def prompt_logprobs(self, model: str, ids: Sequence[int]) -> list[float]:
        """Log probability of each id but the first, given those before it.

        :param model: a base model or an adapter.
        :returns: ``len(ids) - 1`` values, at temperature 1.
        :raises UnknownAdapter: the engine has no such model.
        """
        body = {
            "model": model,
            "prompt": list(ids),
            "max_tokens": 1,
            "temperature": 1.0,
            "prompt_logprobs": 0,
        }
        try:
            reply = orjson.loads(await self._ask("POST", "/v1/completions", body))
        except EngineRefused as refused:
            if refused.status == 404:
                raise UnknownAdapter(str(refused), refused.status) from None
            raise
        try:
            entries = reply["choices"][0]["prompt_logprobs"]
            if entries[0] is not None or len(entries) != len(ids):
                raise KeyError
            after = zip(entries[1:], ids[1:], strict=True)
            return [float(entry[str(id)]["logprob"]) for entry, id in after]
        except (KeyError, IndexError, TypeError, ValueError):
            raise self._unreadable("/v1/completions") from None

    async def _ask(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> bytes:
        if self._http is None:
            raise RuntimeError("use the client as an async context manager")
        data = None if body is None else orjson.dumps(body)
        headers = {"Content-Type": "application/json"} if data else {}
        try:
            async with self._http.request(
                method, self.url + path, data=data, headers=headers
            ) as response:
                answer = await response.read()
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            raise EngineUnreachable(
                f"no answer from {self.url}{path} ({error or type(error).__name__})"
            ) from None
        if response.status == 200:
            return answer
        message = _message(answer)
        if response.status >= 500:
            raise EngineUnreachable(
                f"{self.url}{path} answers {response.status}: {message}", response.status
            )
        raise EngineRefused(message, response.status)

    def _unreadable(self, path: str) -> EngineUnreachable:
        return EngineUnreachable(f"{self.url}{path} answers in another shape than vLLM")


def _message(answer: bytes) -> str:
    """What an error body says, on one line."""
    try:
        text = str(orjson.loads(answer)["error"]["message"])
    except (orjson.JSONDecodeError, KeyError, TypeError):
        text = answer.decode("utf-8", "replace")
    return " ".join(text.split())[:500] or "no reason given"
