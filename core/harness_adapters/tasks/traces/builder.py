"""Puts events in order and finds the call that each result answers."""

from __future__ import annotations

from collections import deque
from typing import Any

from harness_adapters.tasks.traces.events import (
    Call,
    Compaction,
    Event,
    Message,
    Reasoning,
    Result,
    Role,
)
from harness_adapters.tasks.traces.fields import raw_arguments


class TraceBuilder:
    """Collects the events of one session. Empty texts are no events."""

    def __init__(self) -> None:
        self._events: list[Event] = []
        self._calls = 0
        self._waiting: dict[int, str] = {}  # calls without a result -> their id, oldest first
        self._by_id: dict[str, deque[int]] = {}

    @property
    def events(self) -> tuple[Event, ...]:
        return tuple(self._events)

    def message(
        self, role: Role, text: str, *, synthetic: bool = False, time: float | None = None
    ) -> None:
        if text:
            self._events.append(Message(role=role, text=text, synthetic=synthetic, time=time))

    def reasoning(self, text: str, *, time: float | None = None) -> None:
        if text:
            self._events.append(Reasoning(text=text, time=time))

    def compaction(self, summary: str = "", *, time: float | None = None) -> None:
        """A summary that follows the mere word that there was a compaction completes it."""
        last = self._events[-1] if self._events else None
        if isinstance(last, Compaction) and not last.summary:
            self._events.pop()
        self._events.append(Compaction(summary=summary, time=time))

    def call(
        self,
        id: str,
        name: str,
        arguments: Any,
        *,
        held: bool = False,
        time: float | None = None,
    ) -> int:
        """Returns the call's number."""
        number = self._calls
        self._calls += 1
        self._events.append(
            Call(
                number=number,
                id=id,
                name=name,
                raw=raw_arguments(arguments),
                held=held,
                time=time,
            )
        )
        if not held:
            self._waiting[number] = id
            self._by_id.setdefault(id, deque()).append(number)
        return number

    def result(
        self,
        id: str,
        text: str,
        *,
        is_error: bool | None = None,
        truncated: bool = False,
        details: Any = None,
        time: float | None = None,
    ) -> None:
        """The result of the oldest unanswered call of that id; without an id, of the oldest of
        all. One that fits no call is kept and marked so."""
        self._events.append(
            Result(
                call=self._take(id),
                text=text,
                is_error=is_error,
                truncated=truncated,
                details=details,
                time=time,
            )
        )

    def _take(self, id: str) -> int | None:
        if not id and self._waiting:
            id = next(iter(self._waiting.values()))
        numbers = self._by_id.get(id)
        if not numbers:
            return None
        number = numbers.popleft()
        del self._waiting[number]
        return number
