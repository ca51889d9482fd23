"""One reply of the engine, before it is put into a wire dialect."""

from __future__ import annotations

import secrets
import time
from array import array
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from harness_adapters.serve.tokens import Call, ChatTokenizer, logprobs

MOST_PIECES = 16
LEAST_PIECE = 12  # characters


@dataclass(frozen=True, kw_only=True)
class Sample:
    """What was sampled, and what the request wants to be told of it.

    :param ids: the sampled ids, the end of turn included.
    :param return_ids: add prompt and sampled ids to the reply.
    :param return_logprobs: add the log probability of each sampled id.
    :param tokens_as_ids: name tokens ``token_id:N`` in logprobs.
    """

    model: str
    text: str
    calls: tuple[Call, ...]
    prompt: array[int]
    ids: array[int]
    tokenizer: ChatTokenizer
    temperature: float = 1.0
    return_ids: bool = False
    return_logprobs: bool = False
    tokens_as_ids: bool = False
    id: str = field(default_factory=lambda: secrets.token_hex(12))
    created: int = field(default_factory=lambda: int(time.time()))

    def logprobs(self) -> list[dict[str, Any]]:
        """One entry per sampled id, as in ``choices[].logprobs.content``."""
        pieces = self.tokenizer.pieces
        values = logprobs(self.ids, temperature=self.temperature)
        return [
            {
                "token": f"token_id:{index}"
                if self.tokens_as_ids
                else pieces[index].decode("utf-8", "replace"),
                "logprob": value,
                "bytes": list(pieces[index]),
                "top_logprobs": [],
            }
            for index, value in zip(self.ids, values, strict=True)
        ]

    def extras(self) -> dict[str, Any]:
        """Ids and logprobs for the dialects whose wire has no place for them."""
        extras: dict[str, Any] = {}
        if self.return_ids:
            extras |= {"prompt_token_ids": self.prompt.tolist(), "token_ids": self.ids.tolist()}
        if self.return_logprobs:
            extras["logprobs"] = {"content": self.logprobs()}
        return extras


def pieces(text: str) -> list[str]:
    """A text in a few pieces, as it would arrive in a stream."""
    size = max(LEAST_PIECE, -(-len(text) // MOST_PIECES))
    return [text[start : start + size] for start in range(0, len(text), size)]


def frame(data: Mapping[str, Any], event: str = "") -> bytes:
    """One server-sent event."""
    name = f"event: {event}\n".encode() if event else b""
    return name + b"data: " + orjson.dumps(data) + b"\n\n"
