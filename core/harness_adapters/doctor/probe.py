"""Questions to an engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import aiohttp
import orjson

from harness_adapters.errors import InfraError

Json = dict[str, Any]
MAX_REPLY_BYTES = 16 * 1024 * 1024


class NoAnswer(InfraError):
    """The engine did not answer a question, or answered nothing that can be read."""


@dataclass(frozen=True)
class EngineProbe:
    """:param url: without ``/v1``.
    :param api_key: sent as a bearer token.
    """

    http: aiohttp.ClientSession
    url: str
    model: str
    api_key: str | None = field(default=None, repr=False)

    async def post(self, path: str, body: Mapping[str, Any]) -> tuple[int, Json]:
        """Status and JSON object; an empty one for a body that is no JSON object.

        :raises NoAnswer: there is none.
        """
        return await self._ask("POST", path, orjson.dumps(body))

    async def get(self, path: str) -> tuple[int, Json]:
        """Likewise."""
        return await self._ask("GET", path, None)

    async def chat(self, messages: Sequence[Json], **more: Any) -> tuple[int, Json]:
        """A chat completion as the gateway asks for it.

        :raises NoAnswer: there is none.
        """
        body = {
            "model": self.model,
            "messages": list(messages),
            "max_tokens": 64,
            "temperature": 0.8,
            "top_p": 1.0,
            "stream": False,
            "return_token_ids": True,
            "logprobs": True,
            "top_logprobs": 0,
            **more,
        }
        return await self.post("/v1/chat/completions", body)

    async def _ask(self, method: str, path: str, body: bytes | None) -> tuple[int, Json]:
        headers = {"Content-Type": "application/json"} if body is not None else {}
        if self.api_key:
            headers["Authorization"] = f"Bearer {self.api_key}"
        try:
            async with self.http.request(
                method, self.url + path, data=body, headers=headers
            ) as response:
                raw = await response.content.read(MAX_REPLY_BYTES)
                while part := await response.content.read(MAX_REPLY_BYTES - len(raw)):
                    raw += part
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            raise NoAnswer(f"no answer to {path}: {error or type(error).__name__}") from error
        try:
            answer = orjson.loads(raw)
        except orjson.JSONDecodeError:
            answer = {}
        return response.status, answer if isinstance(answer, dict) else {}


def message_of(reply: Json) -> Json:
    """The message of a reply's first choice; an empty one when there is none."""
    choices = reply.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else {}
    message = choice.get("message") if isinstance(choice, dict) else None
    return message if isinstance(message, dict) else {}


def complaint(status: int, reply: Json) -> str:
    """An error reply in one line."""
    error = reply.get("error")
    said = error.get("message") if isinstance(error, dict) else reply.get("detail")
    return f"status {status}" + (f": {str(said)[:200]}" if said else "")
