"""From what happened to a typed outcome and a reward. Pure; the one place that decides either.

The order of the questions is the point: a cheat is never unscorable, so a blocked call is asked
for before any fault; a fault outside the sandbox is never a zero, so it is asked for before the
grade; and what the policy did to its own harness is graded like any other work.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from harness_adapters.errors import InfraError
from harness_adapters.gateway.transcript import Decision, Transcript
from harness_adapters.protocols import RewardShaper
from harness_adapters.types import (
    Attempt,
    Ended,
    Flag,
    HarnessExit,
    Outcome,
    RewardTerm,
    Verdict,
)

BLOCKED = frozenset({Outcome.GUARD_BLOCKED, Outcome.UNJUDGEABLE})


def blocked_outcome(transcript: Transcript) -> Outcome | None:
    """``guard_blocked`` or ``unjudgeable`` when a call was held back for what it was; ``None``
    when none was, or only because a rule was at fault."""
    held = [call for call in transcript.blocked if call.findings]
    if held:
        return Outcome.GUARD_BLOCKED
    if any(call.decision is Decision.UNJUDGEABLE for call in transcript.blocked):
        return Outcome.UNJUDGEABLE
    return None


def fault(transcript: Transcript, exit: HarnessExit) -> str | None:
    """The fault that makes this session unscorable, in one line, or ``None``.

    It lies outside the sandbox, or it came before the policy had a first tool call executed. Some
    harnesses give up on a reply that was cut for its length, and that is the policy's own doing.
    """
    if blocked_outcome(transcript):
        return None
    if transcript.guard_faults:
        return f"guard: {transcript.guard_faults[0]}"
    if transcript.faults:
        return f"engine: {transcript.faults[-1]}"
    if not transcript.turns and not transcript.refused:
        return f"the harness made no model request ({exit.ended}: {exit.detail or 'no detail'})"
    cut_off = bool(transcript.turns) and transcript.turns[-1].finish == "length"
    if exit.ended in (Ended.DIED, Ended.ERROR) and not transcript.calls and not cut_off:
        return f"the harness ended before its first tool call ({exit.detail or exit.ended})"
    return None


def flags(transcript: Transcript, exit: HarnessExit, verdict: Verdict | None) -> frozenset[Flag]:
    more = set(transcript.flags)
    if exit.ended is Ended.TIMEOUT:
        more.add(Flag.AGENT_TIMEOUT)
    if verdict and verdict.self_graded:
        more.add(Flag.SELF_GRADED)
    return frozenset(more)


def outcome(transcript: Transcript, exit: HarnessExit, verdict: Verdict) -> Outcome:
    """The outcome of a session that was verified and has no ``fault``."""
    if blocked := blocked_outcome(transcript):
        return blocked
    if verdict.broke_verifier:
        return Outcome.AGENT_BROKE_VERIFIER
    if exit.ended in (Ended.DIED, Ended.ERROR):
        return Outcome.HARNESS_DIED
    return Outcome.SOLVED if verdict.passed else Outcome.FAILED


def reward(attempt: Attempt, shapers: Sequence[RewardShaper]) -> tuple[float, list[RewardTerm]]:
    """The verifier's score plus one term per shaper; 0 without any term when blocked or when the
    graded tree broke the verifier.

    A session in which something else than the harness ran model calls earns no bonus: its calls
    cannot be counted.

    :raises InfraError: a shaper raised or gave no finite number.
    """
    if attempt.outcome in BLOCKED or attempt.outcome is Outcome.AGENT_BROKE_VERIFIER:
        return 0.0, []
    terms = [RewardTerm(name="verifier", value=attempt.verdict.score)]
    for shaper in shapers:
        try:
            term = shaper.shape(attempt)
        except Exception as error:
            raise InfraError(f"reward {type(shaper).__name__} raised {error!r}") from error
        if not math.isfinite(term.value):
            raise InfraError(f"reward {term.name} gave {term.value}")
        if term.value > 0 and Flag.UNDECLARED_REQUEST in attempt.flags:
            term = RewardTerm(name=term.name, value=0.0)
        terms.append(term)
    return sum(term.value for term in terms), terms
