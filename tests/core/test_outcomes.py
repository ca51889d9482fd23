"""The table of outcomes, row by row."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ha_reward_tool_efficiency.shaper import ToolEfficiency
from harness_adapters import (
    Attempt,
    Decision,
    Ended,
    Finding,
    Flag,
    HarnessExit,
    InfraError,
    JudgedCall,
    Outcome,
    RewardTerm,
    Severity,
    Task,
    TaskMetadata,
    Transcript,
    Turn,
    Verdict,
    outcomes,
)

COMPLETED = HarnessExit(ended=Ended.COMPLETED)
DIED = HarnessExit(ended=Ended.DIED, detail="killed by signal 9")
PASSED = Verdict(passed=True, score=1.0)
FAILED = Verdict(passed=False, score=0.25)
BROKE = Verdict(passed=False, score=0.0, broke_verifier=True)
FINDING = Finding(rule="tamper.x", severity=Severity.BLOCK, message="")


def call(decision: Decision = Decision.ALLOW, **more: Any) -> JudgedCall:
    return JudgedCall(id="c", name="bash", arguments={}, decision=decision, **more)


def session(*calls: JudgedCall, **more: Any) -> Transcript:
    turn = Turn(index=0, new_messages=[], reply={}, parent=None, calls=calls)
    return Transcript(turns=(turn,), **more)


WORKED = session(call())
CUT_OFF = Transcript(
    turns=(Turn(index=0, new_messages=[], reply={}, parent=None, finish="length"),)
)
BLOCKED = session(call(Decision.BLOCK, findings=(FINDING,)))
UNJUDGEABLE = session(call(Decision.UNJUDGEABLE))


@pytest.mark.parametrize(
    ("transcript", "exit", "verdict", "expected"),
    [
        (WORKED, COMPLETED, PASSED, Outcome.SOLVED),
        (WORKED, COMPLETED, FAILED, Outcome.FAILED),
        (WORKED, HarnessExit(ended=Ended.TIMEOUT), PASSED, Outcome.SOLVED),
        (WORKED, DIED, PASSED, Outcome.HARNESS_DIED),
        (WORKED, COMPLETED, BROKE, Outcome.AGENT_BROKE_VERIFIER),
        (WORKED, DIED, BROKE, Outcome.AGENT_BROKE_VERIFIER),
        (BLOCKED, COMPLETED, PASSED, Outcome.GUARD_BLOCKED),
        (BLOCKED, DIED, BROKE, Outcome.GUARD_BLOCKED),
        (UNJUDGEABLE, COMPLETED, PASSED, Outcome.UNJUDGEABLE),
    ],
)
def test_outcomes_of_verified_sessions(
    transcript: Transcript, exit: HarnessExit, verdict: Verdict, expected: Outcome
) -> None:
    assert outcomes.outcome(transcript, exit, verdict) is expected


@pytest.mark.parametrize(
    ("transcript", "exit", "fault"),
    [
        (WORKED, COMPLETED, None),
        (WORKED, DIED, None),
        (session(), COMPLETED, None),
        (session(), DIED, "before its first tool call"),
        (session(), HarnessExit(ended=Ended.ERROR, detail="bad config"), "bad config"),
        (CUT_OFF, HarnessExit(ended=Ended.ERROR, detail="too many output tokens"), None),
        (Transcript(), COMPLETED, "no model request"),
        (Transcript(), HarnessExit(ended=Ended.TIMEOUT), "no model request"),
        (session(call(), faults=("500 from upstream",)), COMPLETED, "500 from upstream"),
        (session(call(Decision.BLOCK), guard_faults=("rule raised",)), COMPLETED, "rule raised"),
    ],
)
def test_faults_are_what_the_policy_did_not_cause(
    transcript: Transcript, exit: HarnessExit, fault: str | None
) -> None:
    found = outcomes.fault(transcript, exit)
    assert found is None if fault is None else fault in (found or "")


@pytest.mark.parametrize("held", [BLOCKED, UNJUDGEABLE])
def test_a_cheat_is_never_unscorable(held: Transcript) -> None:
    troubled = replace(held, faults=("engine gone",), guard_faults=("rule raised",))
    assert outcomes.fault(troubled, DIED) is None


def attempt(transcript: Transcript, outcome: Outcome, verdict: Verdict, *flags: Flag) -> Attempt:
    return Attempt(
        task=Task(
            id="t", instruction="", path=Path(), metadata=TaskMetadata(kind="qa", cluster="c")
        ),
        transcript=transcript,
        exit=COMPLETED,
        verdict=verdict,
        outcome=outcome,
        flags=frozenset(flags),
    )


def calls(count: int) -> Transcript:
    return session(*(call() for _ in range(count)))


@pytest.mark.parametrize(("count", "bonus"), [(0, 0.1), (3, 0.08), (15, 0.0), (40, 0.0)])
def test_the_published_bonus_for_few_calls(count: int, bonus: float) -> None:
    total, terms = outcomes.reward(
        attempt(calls(count), Outcome.SOLVED, PASSED), [ToolEfficiency({})]
    )
    assert total == pytest.approx(1 + bonus)
    assert [term.name for term in terms] == ["verifier", "tool_efficiency"]


@pytest.mark.parametrize(
    ("outcome", "verdict", "total"),
    [
        (Outcome.FAILED, FAILED, 0.25),
        (Outcome.HARNESS_DIED, PASSED, 1.0),
        (Outcome.GUARD_BLOCKED, PASSED, 0.0),
        (Outcome.UNJUDGEABLE, PASSED, 0.0),
        (Outcome.AGENT_BROKE_VERIFIER, BROKE, 0.0),
    ],
)
def test_no_bonus_without_a_solve(outcome: Outcome, verdict: Verdict, total: float) -> None:
    assert outcomes.reward(attempt(calls(1), outcome, verdict), [ToolEfficiency({})])[0] == total


def test_a_session_with_model_calls_of_its_own_earns_no_bonus() -> None:
    graded = attempt(calls(1), Outcome.SOLVED, PASSED, Flag.UNDECLARED_REQUEST)
    assert outcomes.reward(graded, [ToolEfficiency({})])[0] == 1.0


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_shaper_that_gives_no_number_is_a_fault_not_a_zero(value: float) -> None:
    class Odd:
        def shape(self, attempt: Attempt) -> RewardTerm:
            return RewardTerm(name="odd", value=value)

    with pytest.raises(InfraError, match="odd"):
        outcomes.reward(attempt(WORKED, Outcome.SOLVED, PASSED), [Odd()])


def test_dropped_siblings_of_a_blocked_call_do_not_count_as_calls() -> None:
    both = session(call(dropped=True), call(Decision.BLOCK, findings=(FINDING,)))
    assert both.calls == 0
    assert len(both.blocked) == 1
