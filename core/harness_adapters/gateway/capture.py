"""Exact tokens out of an engine's reply: validated, packed, never re-tokenized."""

from __future__ import annotations

import math
import sys
from array import array
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from harness_adapters.gateway.completions import the_choice
from harness_adapters.gateway.failures import TokenError

TOKEN_ID = "token_id:"
TOP_BYTE = 3 if sys.byteorder == "little" else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Tokens:
    """One turn's tokens.

    :param prompt: all ids of the prompt, ``int32``.
    :param sampled: ids that the engine sampled, ``int32``.
    :param logprobs: of the sampled ids, one each, ``float32``.
    """

    prompt: array[int]
    sampled: array[int]
    logprobs: array[float]


def read_tokens(reply: Mapping[str, Any]) -> Tokens:
    """The ids and logprobs that came with a chat completion.

    Reads ``prompt_token_ids``, and of the choice ``token_ids`` and ``logprobs.content[].logprob``,
    which is the sampled token's own; alternatives in ``top_logprobs`` are never looked at.

    :raises TokenError: something is missing, or does not fit the rest.
    """
    choice = the_choice(reply)
    prompt = _ids(reply.get("prompt_token_ids"), "prompt_token_ids")
    sampled = _ids(choice.get("token_ids"), "token_ids")
    entries = choice.get("logprobs")
    entries = entries.get("content") if isinstance(entries, dict) else None
    if not isinstance(entries, list):
        raise TokenError("the engine's reply has no logprobs")
    if len(entries) != len(sampled):
        raise TokenError(f"{len(entries)} logprobs do not fit {len(sampled)} sampled ids")
    try:
        logprobs = array("f", [entry["logprob"] for entry in entries])
    except (TypeError, KeyError):
        raise TokenError("a logprob is missing or no number") from None
    if not math.isfinite(math.fsum(logprobs)):
        raise TokenError("a logprob is not finite")
    _check_tokens(entries, sampled)
    _check_usage(reply.get("usage"), prompt, sampled)
    return Tokens(prompt=prompt, sampled=sampled, logprobs=logprobs)


def _ids(sent: object, name: str) -> array[int]:
    if not isinstance(sent, list) or not sent:
        raise TokenError(f"the engine's reply has no {name}")
    # Unsigned first: it refuses what is negative, and is the fastest way to pack 100k ids.
    try:
        packed = array("I", sent).tobytes()
    except (TypeError, OverflowError):
        raise TokenError(f"{name} holds something that is no token id") from None
    ids = array("i", packed)
    if not packed[TOP_BYTE::4].isascii():  # one pass in C: no top bit is set
        raise TokenError(f"{name} holds an id beyond 31 bits")
    return ids


def _check_tokens(entries: list[Any], sampled: array[int]) -> None:
    """Where the engine names the token of a logprob by its id, it must be the sampled one."""
    named = [entry.get("token") for entry in entries]
    expected = [f"{TOKEN_ID}{id}" for id in sampled]
    if named == expected:
        return
    for name, own, id in zip(named, expected, sampled, strict=True):
        if type(name) is str and name.startswith(TOKEN_ID) and name != own:
            raise TokenError(f"a logprob belongs to {name!r}, but {id} was sampled")


def _check_usage(usage: object, prompt: array[int], sampled: array[int]) -> None:
    if not isinstance(usage, dict):
        return
    for name, ids in (("prompt_tokens", prompt), ("completion_tokens", sampled)):
        counted = usage.get(name)
        if counted is not None and counted != len(ids):
            raise TokenError(f"usage counts {counted} {name}, but {len(ids)} ids came")
