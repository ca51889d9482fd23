"""What a session left at the wire: turns with exact tokens, verdicts, and training rows.

Turns form a forest by exact token prefix. A turn stores only the ids that its prompt adds to its
parent's prompt + sample, in packed arrays; a row is one path from a root to a leaf.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from harness_adapters.types import Finding, Flag


class Decision(StrEnum):
    ALLOW = "allow"
    FLAG = "flag"
    BLOCK = "block"
    UNJUDGEABLE = "unjudgeable"


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedCall:
    """One tool call of a turn and what the guard decided.

    :param arguments: the object the model sent, or the raw text when it is no JSON object.
    :param dropped: allowed itself, but not let through, since a sibling in its message was blocked
        or one was cut off by the output limit.
    :param faults: one line per rule that raised, naming its plugin.
    :param policy: hash over the rules, their versions and options.
    """

    id: str
    name: str
    arguments: dict[str, Any] | str
    decision: Decision
    findings: tuple[Finding, ...] = ()
    dropped: bool = False
    faults: tuple[str, ...] = ()
    policy: str = ""

    @property
    def executed(self) -> bool:
        return self.decision in (Decision.ALLOW, Decision.FLAG) and not self.dropped


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One model request that was answered, in the order in which replies were committed, so that
    a parent's index is always smaller.

    :param new_messages: the request's chat messages that no earlier request of the session had at
        that place; for a continued conversation the assistant message as the harness echoes it,
        tool results, and what else came.
    :param reply: the assistant message as the harness received it (notice instead of a blocked
        call).
    :param parent: index of the turn whose prompt + sample is an exact prefix of this prompt, or
        ``None`` for a root.
    :param new_prompt_ids: prompt ids after the parent's (all of them for a root), ``int32``.
    :param sampled_ids: ids the engine sampled, ``int32``.
    :param logprobs: of the sampled ids, at the sampling temperature, ``float32``.
    :param model: the adapter name that the request was dispatched to.
    :param auxiliary: name of the declared side request, or ``""``; auxiliary turns are no rows.
    :param finish: the engine's own finish reason.
    :param delivered: ``False`` when the harness was gone before the whole reply was written to it.
    """

    index: int
    new_messages: Sequence[dict[str, Any]]
    reply: dict[str, Any]
    parent: int | None
    new_prompt_ids: array[int] = field(default_factory=lambda: array("i"))
    sampled_ids: array[int] = field(default_factory=lambda: array("i"))
    logprobs: array[float] = field(default_factory=lambda: array("f"))
    calls: tuple[JudgedCall, ...] = ()
    model: str = ""
    auxiliary: str = ""
    finish: str = ""
    started: float = 0.0
    seconds: float = 0.0
    usage: dict[str, int] = field(default_factory=dict[str, int])
    delivered: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One training sequence.

    :param ids: prompt and samples of one root-to-leaf path, ``int32[n]``.
    :param loss: 1 where the id was sampled and is trained in this row, ``uint8[n]``; over all
        rows of a transcript each sampled id has loss exactly once.
    :param logprobs: ``float32[n]``, ``nan`` where ``loss`` is 0.
    :param model: adapter version that sampled it.
    """

    ids: array[int]
    loss: bytes
    logprobs: array[float]
    model: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Transcript:
    """A whole session at the wire.

    :param tools: the declared tools of the first non-auxiliary request, in wire form.
    :param token_exact: there are turns, and all that are not auxiliary have ids and logprobs from
        the engine.
    :param faults: infrastructure faults met while serving it, one line each.
    :param guard_faults: guard faults that a benign probe also showed.
    :param refused: requests answered without the engine (past the budget, undeclared).
    """

    turns: tuple[Turn, ...] = ()
    tools: tuple[dict[str, Any], ...] = ()
    token_exact: bool = False
    flags: frozenset[Flag] = frozenset()
    faults: tuple[str, ...] = ()
    guard_faults: tuple[str, ...] = ()
    refused: int = 0

    @property
    def calls(self) -> int:
        """Tool calls let through to the harness, auxiliary turns not counted."""
        return sum(c.executed for turn in self.turns if not turn.auxiliary for c in turn.calls)

    @property
    def blocked(self) -> tuple[JudgedCall, ...]:
        return tuple(
            c
            for turn in self.turns
            for c in turn.calls
            if c.decision in (Decision.BLOCK, Decision.UNJUDGEABLE)
        )

    def rows(self) -> list[Row]:
        """Training rows, one per root-to-leaf path; an append-only session gives one row. None
        for a session that is not token-exact as a whole."""
        from harness_adapters.gateway.forest import rows

        return rows(self.turns) if self.token_exact else []
