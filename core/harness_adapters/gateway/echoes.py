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
    """The calls that a session's model has made. Holds digests and the sampled texts themselves."""

    def __init__(self) -> None:
        self._by_meaning: dict[_Key, str] = {}
        self._by_text: dict[_Key, str | None] = {}

    def add(self, reply: Message) -> None:
        """Remember the calls of a reply, by their ids."""
        for call in reply.get("tool_calls", ()):
            raw = call["function"]["arguments"]
            if (meaning := _meaning(raw)) is not None:
                self._by_meaning[call["id"], meaning] = raw
                self._by_text[call["id"], _digest(raw)] = raw

    def restore(self, messages: Sequence[Message]) -> Sequence[Message]:
        """The messages with the sampled text in place of each echo of it."""
        if not self._by_meaning:
            return messages
        return [
            self._restored(message) if message.get("tool_calls") else message
            for message in messages
        ]

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
        key = (id, _digest(text))
        if key not in self._by_text:
            meaning = _meaning(text)
            self._by_text[key] = self._by_meaning.get((id, meaning)) if meaning else None
        sampled = self._by_text[key]
        if sampled is None or sampled == text:
            return call
        return {**call, "function": {**function, "arguments": sampled}}


def _meaning(text: str) -> bytes | None:
    value = strict_object(text)
    return None if value is None else _digest(json.dumps(value, sort_keys=True))


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=16).digest()
