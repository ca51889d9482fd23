"""Which requests belong to the harness's own conversation.

URL and key lie in the sandbox, so whatever runs there may ask for a model. Until a first tool call
has been let through only the harness runs, and what it asks opens the conversation. From then on a
request must go on where a reply left off: it repeats the reply and carries the results of its
calls. What does not is foreign. What does, but in a way that a harness would not (one reply gone
on from in two ways, a reply asked for again though it arrived), is in doubt: a program in the
sandbox may have said it, or the harness after such a program.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any

import orjson

from harness_adapters.gateway.dialects.base import ModelRequest, text_of

Message = Mapping[str, Any]
SYSTEM = ("system", "developer")


class Awaits(Enum):
    """What a harness does next after a reply that has arrived."""

    RESULTS = auto()  # it runs the calls
    NOTHING = auto()  # it ends
    ANYTHING = auto()  # it was told of a block, or the reply was cut, empty or malformed


@dataclass(frozen=True, slots=True)
class Step:
    """A place in the conversation.

    :param after: index of the turn whose reply it goes on from; ``None`` for an opening.
    :param said: digest of what was said since, system messages left out.
    :param prompt: digest of the whole prompt, system messages left out.
    :param anew: it opens a conversation with what a declared side request made of the last one.
    """

    after: int | None
    said: bytes
    prompt: bytes = field(compare=False)
    anew: bool = False


@dataclass(frozen=True, slots=True)
class _Committed:
    turn: int
    step: Step
    calls: frozenset[str]
    awaits: Awaits


class MainLoop:
    """The main conversation of one session, by what its requests and replies say. Holds digests.

    System messages are left out of all comparisons: some harnesses render theirs anew each turn.
    """

    def __init__(self) -> None:
        self.sealed = False  # a call was let through: not only the harness runs in the sandbox
        self._first_words: set[bytes] = set()
        self._steps: dict[bytes, Step] = {}  # digest of a whole prompt -> its place
        self._by_prompt: dict[bytes, list[_Committed]] = {}
        self._by_call: dict[str, _Committed] = {}
        self._by_text: dict[bytes, _Committed] = {}
        self._at: dict[Step, list[_Committed]] = {}
        self._after: dict[int | None, set[Step]] = {}
        self._turns: dict[int, _Committed] = {}
        self._arrived: set[int] = set()
        self._handed_on: list[str] = []

    def place(self, request: ModelRequest) -> Step | None:
        """Where a request stands in the conversation; ``None`` for one that is foreign to it."""
        messages = _without_system(request.messages)
        start, end = _last_reply(messages)
        before, whole, since = _digests(messages, start, end)
        if whole in self._steps:
            return self._steps[whole]
        if end < len(messages) and end:
            echo = [id for message in messages[start:end] for id in _call_ids(message)]
            answered = {message.get("tool_call_id") for message in messages[end:]}
            reply = self._reply(before, messages[start:end], echo)
            if (
                reply
                and (echo or reply.awaits is not Awaits.RESULTS)
                and answered.issuperset(echo)
                and (not self.sealed or _first_words(messages) in self._first_words)
            ):
                return Step(reply.turn, since, whole)
        if not self.sealed:
            return Step(None, whole, whole)
        if any(handed in text_of(m.get("content")) for handed in self._handed_on for m in messages):
            return Step(None, whole, whole, anew=True)
        return None

    def in_doubt(self, step: Step) -> bool:
        """Whether it may be somebody else than the harness who asks this."""
        if not self.sealed:
            return False
        again = any(
            one.turn in self._arrived and one.awaits is not Awaits.ANYTHING
            for one in self._at.get(step, ())
        )
        if step.after is None:
            return again or step.anew
        beside = self._after.get(step.after, set()) - {step}
        return again or bool(beside) or self._turns[step.after].awaits is Awaits.NOTHING

    def has_gone_on(self, step: Step) -> bool:
        """Whether the harness has a reply to this request, or to one in its place."""
        return self.sealed and any(
            one.turn in self._arrived
            for beside in self._after.get(step.after, ())
            for one in self._at[beside]
        )

    def commit(
        self,
        turn: int,
        step: Step,
        request: ModelRequest,
        reply: Message,
        *,
        awaits: Awaits,
    ) -> None:
        """A request was answered."""
        one = _Committed(turn, step, frozenset(_call_ids(reply)), awaits)
        self._steps[step.prompt] = step
        self._by_prompt.setdefault(step.prompt, []).append(one)
        self._by_call.update(dict.fromkeys(one.calls, one))
        if text := text_of(reply.get("content")).strip():
            self._by_text[_digest_text(text)] = one
        self._at.setdefault(step, []).append(one)
        self._after.setdefault(step.after, set()).add(step)
        self._turns[turn] = one
        if step.after is None:
            self._first_words.add(_first_words(request.messages))
        if one.calls:
            self.sealed = True

    def arrived(self, turn: int) -> None:
        """The harness was sent the whole of a turn's reply."""
        self._arrived.add(turn)

    def hand_on(self, text: str) -> None:
        """What a declared side request was answered: a compaction starts anew from it."""
        if text.strip():
            self._handed_on.append(text.strip())

    def _reply(
        self, prompt: bytes, echo: Sequence[Message], calls: Sequence[str]
    ) -> _Committed | None:
        """The reply that these assistant messages repeat: the one to this very prompt, else the
        latest that made these calls or said this."""
        for one in reversed(self._by_prompt.get(prompt, ())):
            if one.calls.issuperset(calls):
                return one
        if not calls:
            text = "\n".join(text_of(message.get("content")) for message in echo).strip()
            return self._by_text.get(_digest_text(text))
        latest = self._by_call.get(calls[-1])
        return latest if latest and latest.calls.issuperset(calls) else None


def _without_system(messages: Iterable[Message]) -> list[Message]:
    return [message for message in messages if message["role"] not in SYSTEM]


def _last_reply(messages: Sequence[Message]) -> tuple[int, int]:
    """Start and end of the last run of assistant messages; ``0, 0`` when there is none."""
    end = len(messages)
    while end and messages[end - 1]["role"] != "assistant":
        end -= 1
    start = end
    while start and messages[start - 1]["role"] == "assistant":
        start -= 1
    return start, end


def _first_words(messages: Sequence[Message]) -> bytes:
    first = next((message for message in messages if message["role"] == "user"), None)
    return _digest_text(text_of(first.get("content")) if first else "")


def _call_ids(message: Message) -> list[str]:
    return [call["id"] for call in message.get("tool_calls") or ()]


def _digests(messages: Sequence[Message], start: int, end: int) -> tuple[bytes, bytes, bytes]:
    """Of the messages before ``start``, of all, and of those from ``end`` on: over what they say,
    however a harness writes it, and calls by their ids alone."""
    said = [
        orjson.dumps(
            (m["role"], text_of(m.get("content")).strip(), _call_ids(m), m.get("tool_call_id"))
        )
        for m in messages
    ]
    running = hashlib.blake2b(b"".join(said[:start]), digest_size=16)
    before = running.digest()
    since = b"".join(said[end:])
    running.update(b"".join(said[start:end]) + since)
    return before, running.digest(), hashlib.blake2b(since, digest_size=16).digest()


def _digest_text(text: str) -> bytes:
    return hashlib.blake2b(text.encode(), digest_size=16).digest()
