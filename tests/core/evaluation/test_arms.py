"""What counts, what is missing, and what each attempt cost."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from run_folders import attempt, write_run

from harness_adapters import BadInput, Outcome, Transcript, Turn
from harness_adapters.evaluation.arms import read_arm
from harness_adapters.evaluation.blocking import blocking
from harness_adapters.evaluation.efficiency import not_counted
from harness_adapters.evaluation.missing import account, bounds


def test_infra_is_missing_and_never_a_failure(tmp_path: Path) -> None:
    arm = read_arm(
        write_run(
            tmp_path / "run",
            [attempt("a"), attempt("a", number=1, outcome=Outcome.INFRA), attempt("b")],
            tasks=["a", "b", "c"],
            attempts=2,
        )
    )
    assert arm.results["a"].pass_rate == 1
    assert (arm.planned, arm.finished, arm.unscorable, arm.not_run) == (6, 2, 1, 3)


def test_rf45_attempts_are_counted_not_copied_from_the_plan(tmp_path: Path) -> None:
    """RF45: avg@k was labelled by the k that was asked for."""
    rollouts = [attempt("a", number=n) for n in range(4)]
    rollouts += [attempt("b", number=n) for n in range(2)]
    rollouts += [attempt("b", number=2, outcome=Outcome.INFRA)]
    told = account(read_arm(write_run(tmp_path / "run", rollouts, attempts=4)))
    assert told["attempts"] == {"planned": 4, "fewest": 2, "most": 4}
    assert (told["tasks"], told["planned"], told["finished"]) == (2, 8, 6)
    assert (told["unscorable"], told["not_run"]) == (1, 1)


def test_rf45_tokens_that_are_not_recorded_are_unknown_and_not_zero(tmp_path: Path) -> None:
    """RF45: the completion length was 0 in every evaluation."""
    known = attempt("a", tokens=40)
    unknown = attempt("b", tokens=None)
    arm = read_arm(write_run(tmp_path / "run", [known, unknown]))
    assert arm.results["a"].attempts[0].tokens == 40
    assert arm.results["b"].attempts[0].tokens is None


def test_tokens_come_from_usage_where_there_are_no_ids(tmp_path: Path) -> None:
    turn = Turn(index=0, new_messages=(), reply={}, parent=None, usage={"completion_tokens": 7})
    one = replace(attempt("a"), transcript=Transcript(turns=(turn,)))
    arm = read_arm(write_run(tmp_path / "run", [one]))
    assert arm.results["a"].attempts[0].tokens == 7


def test_auxiliary_requests_cost_nothing_and_are_listed(tmp_path: Path) -> None:
    plain = attempt("a", calls=2, tokens=10)
    turns = plain.transcript.turns
    side = replace(turns[0], index=len(turns), auxiliary="title", parent=None)
    one = replace(plain, transcript=Transcript(turns=(*turns, side)))
    arm = read_arm(write_run(tmp_path / "run", [one]))
    seen = arm.results["a"].attempts[0]
    assert (seen.turns, seen.calls, seen.tokens) == (3, 2, 10)
    assert not_counted(arm) == {"blocked_calls": 0, "auxiliary_calls": 1}


def test_a_harness_that_died_after_its_work_was_done_solved_it(tmp_path: Path) -> None:
    died = attempt("a", outcome=Outcome.HARNESS_DIED, passed=True)
    assert read_arm(write_run(tmp_path / "run", [died])).results["a"].solved == 1


def test_the_guard_table_shows_what_blocks_cost(tmp_path: Path) -> None:
    rollouts = [
        attempt("a"),
        attempt("b", outcome=Outcome.GUARD_BLOCKED, passed=True),
        attempt("c", outcome=Outcome.GUARD_BLOCKED, passed=False, cluster="c1"),
        attempt("d", outcome=Outcome.FAILED, cluster="c1"),
        replace(attempt("e", outcome=Outcome.UNJUDGEABLE), verdict=None),
    ]
    table = blocking(read_arm(write_run(tmp_path / "run", rollouts)))
    assert table["passed_allowed"] == table["passed_blocked"] == 1
    assert table["failed_allowed"] == table["failed_blocked"] == table["unverified_blocked"] == 1
    assert table["pass1"]["est"] == pytest.approx(0.2)
    assert table["pass1_by_verifier"]["est"] == pytest.approx(0.4)
    assert table["block_rate"]["count"] == 3
    assert table["by_rule"]["tamper.tests"]["count"] == 3
    assert table["by_rule"]["tamper.tests"]["lo"] < 0.6 < table["by_rule"]["tamper.tests"]["hi"]


def test_missing_attempts_bound_the_difference(tmp_path: Path) -> None:
    base = read_arm(write_run(tmp_path / "base", [attempt("a")], tasks=["a", "b"]))
    failed = attempt("a", outcome=Outcome.FAILED)
    run = read_arm(write_run(tmp_path / "run", [failed], tasks=["a", "b"]))
    assert bounds(base, run) == (-1.0, 0.0)
    whole = read_arm(write_run(tmp_path / "whole", [attempt("a"), attempt("b")]))
    assert bounds(whole, whole) == (0.0, 0.0)


def test_a_rollout_outside_the_plan_is_in_no_arm(tmp_path: Path) -> None:
    rollouts = [attempt("a"), attempt("stranger"), attempt("a", number=5)]
    arm = read_arm(write_run(tmp_path / "run", rollouts, tasks=["a"], attempts=1))
    assert list(arm.results) == ["a"] and arm.finished == 1


def test_no_run_is_bad_input(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="no run folder"):
        read_arm(tmp_path)
