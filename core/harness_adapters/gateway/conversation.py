"""Which messages of a request are new: harnesses send the whole history each time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

Message = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Continued:
    """The known history that a request shares the most with, and how many messages they share."""

    history: list[Message]
    length: int


class Conversations:
    """The histories that a session has shown so far, each message stored once.

    A request that continues a history extends it in place; one that leaves it in the middle
    (a harness that prunes or edits) starts a branch, which shares the message objects up to there.
    """

    def __init__(self) -> None:
        self._histories: list[list[Message]] = []

    def find(self, messages: Sequence[Message]) -> Continued:
        """What of a request is known. Costs one comparison of the shared prefix."""
        best = Continued([], 0)
        for history in reversed(self._histories):
            shared = _shared(history, messages)
            if shared > best.length:
                best = Continued(history, shared)
            if shared == len(history):
                break
        return best

    def add(self, messages: Sequence[Message], continued: Continued) -> None:
        """Store what ``find`` did not know of a request's messages."""
        history, new = continued.history, messages[continued.length :]
        if not new:
            return
        if not history or continued.length < len(history):
            history = history[: continued.length]
            self._histories.append(history)
        history.extend(new)


def _shared(history: Sequence[Message], messages: Sequence[Message]) -> int:
    """Length of the common prefix; the usual case, all of the history, is one comparison in C."""
    count = len(history)
    if (
        count <= len(messages)
        and history[-1] == messages[count - 1]  # a cheap no for most other histories
        and history == messages[:count]
    ):
        return count
    for number, (old, new) in enumerate(zip(history, messages, strict=False)):
        if old != new:
            return number
    return min(count, len(messages))
