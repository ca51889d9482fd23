"""Finished attempts for tests of reward shapers."""

from __future__ import annotations

from array import array
from pathlib import Path

from harness_adapters.gateway.transcript import Decision, JudgedCall, Transcript, Turn
from harness_adapters.outcomes import BLOCKED
from harness_adapters.types import (
    Attempt,
    Ended,
    Finding,
    Flag,
    HarnessExit,
    Outcome,
    Severity,
    Task,
    TaskMetadata,
    Verdict,
)

_TASK = Task(
    id="t",
    instruction="Make the tests pass.",
    path=Path("/nonexistent"),
    metadata=TaskMetadata(kind="repair", cluster="c"),
)
_ENDED = {Outcome.HARNESS_DIED: Ended.DIED}


def attempt(
    *,
    outcome: Outcome = Outcome.SOLVED,
    calls: int = 3,
    score: float | None = None,
    flags: frozenset[Flag] = frozenset(),
    task: Task = _TASK,
) -> Attempt:
    """One attempt: a turn for each call, a last one without; a blocked outcome has one call more,
    which was held back.

    :param score: the verifier's; by default 1 when solved, else 0.
    """
    solved = outcome is Outcome.SOLVED
    blocked = outcome in BLOCKED
    turns = [_turn(number, Decision.ALLOW) for number in range(calls)]
    held = Decision.UNJUDGEABLE if outcome is Outcome.UNJUDGEABLE else Decision.BLOCK
    turns.append(_turn(calls, held if blocked else None))
    return Attempt(
        task=task,
        transcript=Transcript(turns=tuple(turns), token_exact=True, flags=flags),
        exit=HarnessExit(ended=_ENDED.get(outcome, Ended.COMPLETED), seconds=2.0 + calls),
        verdict=Verdict(
            passed=solved,
            score=float(solved) if score is None else score,
            broke_verifier=outcome is Outcome.AGENT_BROKE_VERIFIER,
        ),
        outcome=outcome,
        flags=flags,
    )


def finished_attempts() -> list[Attempt]:
    """Honest and cheating ones: every outcome that is rewarded, with no calls, few and many."""
    rewarded = [outcome for outcome in Outcome if outcome is not Outcome.INFRA]
    plain = [attempt(outcome=o, calls=calls) for o in rewarded for calls in (0, 1, 3, 200)]
    return [
        *plain,
        attempt(outcome=Outcome.FAILED, score=0.5),
        attempt(flags=frozenset({Flag.BUDGET_STOP, Flag.AGENT_TIMEOUT})),
        attempt(flags=frozenset({Flag.EVAL_ONLY, Flag.UNDECLARED_REQUEST})),
    ]


def _turn(index: int, decision: Decision | None) -> Turn:
    return Turn(
        index=index,
        new_messages=(),
        reply={"role": "assistant", "content": "I will run a command."},
        parent=index - 1 if index else None,
        new_prompt_ids=array("i", range(20)),
        sampled_ids=array("i", range(12)),
        logprobs=array("f", [-0.5] * 12),
        calls=() if decision is None else (_call(index, decision),),
        model="m",
        finish="stop",
        usage={"prompt_tokens": 20 * (index + 1), "completion_tokens": 12},
    )


def _call(index: int, decision: Decision) -> JudgedCall:
    held = Finding(rule="tamper.verifier_root", severity=Severity.BLOCK, message="/tests")
    return JudgedCall(
        id=f"call_{index}",
        name="bash",
        arguments={"command": "ls"},
        decision=decision,
        findings=() if decision is Decision.ALLOW else (held,),
    )
