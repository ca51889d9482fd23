"""A harness sends back the calls it got, written anew: other spaces, escapes, order of keys.

The model's own text is put back where it says the same, so that the next prompt continues what was
sampled. A call that the harness has changed stays as the harness sends it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Any

from harness_adapters.gateway.guard.strict_json import strict_object

Message = dict[str, Any]
_Key = tuple[str, bytes]


class SampledCalls:
    """The calls that a session's model has made. Holds the sampled texts, and digests."""

    def __init__(self) -> None:
        self._sampled: dict[str, set[str]] = {}
        self._unread: dict[str, list[str]] = {}  # what these say is read when it is asked for
        self._by_meaning: dict[_Key, str] = {}
        self._echoes: dict[_Key, str | None] = {}

    def add(self, reply: Message) -> None:
        """Remember the calls of a reply, by their ids; the engine may use one again."""
        for call in reply.get("tool_calls", ()):
            id, raw = call["id"], call["function"]["arguments"]
            self._sampled.setdefault(id, set()).add(raw)
            self._unread.setdefault(id, []).append(raw)

    def restore(self, messages: Sequence[Message]) -> Sequence[Message]:
        """The messages with the sampled text in place of each echo of it."""
        if not self._sampled:
            return messages
        restored = [
            self._restored(message) if message.get("tool_calls") else message
            for message in messages
        ]
        unchanged = all(new is old for new, old in zip(restored, messages, strict=True))
        return messages if unchanged else restored

    def _restored(self, message: Message) -> Message:
        calls = message["tool_calls"]
        if not isinstance(calls, list):
            return message
        restored = [self._call(call) for call in calls]
        if all(new is old for new, old in zip(restored, calls, strict=True)):
            return message
        return {**message, "tool_calls": restored}

    def _call(self, call: Any) -> Any:
        function = call.get("function") if isinstance(call, dict) else None
        if not isinstance(function, dict):
            return call
        id, text = call.get("id"), function.get("arguments")
        if not isinstance(id, str) or not isinstance(text, str):
            return call
        if id not in self._sampled or text in self._sampled[id]:
            return call
        key = (id, _digest(text))
        if key not in self._echoes:
            self._read(id)
            meaning = _meaning(text)
            self._echoes[key] = self._by_meaning.get((id, meaning)) if meaning else None
        sampled = self._echoes[key]
        if sampled is None:
            return call
        return {**call, "function": {**function, "arguments": sampled}}

    def _read(self, id: str) -> None:
        for raw in self._unread.pop(id, ()):
            if (meaning := _meaning(raw)) is not None:
                self._by_meaning[id, meaning] = raw


def _meaning(text: str) -> bytes | None:
    value = strict_object(text)
    return None if value is None else _digest(json.dumps(value, sort_keys=True))


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=16).digest()
