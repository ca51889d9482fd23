"""What happened in a recorded session, whatever harness recorded it.

Only roles, texts and calls can be relied on. Every other field is what the log happened to say,
and empty or ``None`` where it did not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

Role = Literal["system", "user", "assistant"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """Text that somebody said.

    :param synthetic: in the user's place, but written by the harness.
    :param time: seconds since the epoch.
    """

    role: Role
    text: str
    synthetic: bool = False
    time: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reasoning:
    text: str
    time: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A tool call.

    :param number: its place among the trace's calls, from 0. Ids repeat in real logs; this never.
    :param raw: the arguments' text; where a log keeps only an object, that object as JSON.
    :param held: the record says that it was never handed to the harness.
    """

    number: int
    id: str
    name: str
    raw: str
    held: bool = False
    time: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What a call gave back.

    :param call: ``number`` of the call that it answers, ``None`` when no call fits.
    :param truncated: the harness says that this is not all of it.
    :param details: what the harness itself noted about the result, in its own shape.
    """

    call: int | None
    text: str
    is_error: bool | None = None
    truncated: bool = False
    details: Any = None
    time: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Compaction:
    """From here on the model saw a summary of what came before."""

    summary: str = ""
    time: float | None = None


Event = Message | Reasoning | Call | Result | Compaction


@dataclass(frozen=True, kw_only=True)
class Trace:
    """One session: the active branch of its log, in order.

    :param format: name of the reader, e.g. ``pi``.
    :param harness: what recorded it, as far as known.
    :param parent: session that this one was started from, or resumes.
    :param declared_tools: tool name -> wire schema; ``None`` when the log does not say.
    :param subagents: sessions of sub-agents that stand in the same file.
    :param abandoned: entries left out since they lie on no active branch.
    :param malformed: lines, or parts of them, that could not be read.
    :param repaired: lines that could be read only by mending them.
    """

    format: str
    harness: str
    events: tuple[Event, ...]
    session: str = ""
    parent: str = ""
    model: str = ""
    version: str = ""
    cwd: str = ""
    commit: str = ""
    repository: str = ""
    declared_tools: Mapping[str, Mapping[str, Any]] | None = None
    subagents: tuple[Trace, ...] = field(default=())
    abandoned: int = 0
    malformed: int = 0
    repaired: int = 0

    @cached_property
    def calls(self) -> tuple[Call, ...]:
        return tuple(event for event in self.events if isinstance(event, Call))

    @cached_property
    def results(self) -> Mapping[int, Result]:
        """By the number of the call they answer; of several, the last."""
        return {
            event.call: event
            for event in self.events
            if isinstance(event, Result) and event.call is not None
        }
