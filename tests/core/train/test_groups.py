from __future__ import annotations

import math
from array import array
from dataclasses import replace

import pytest
from training import rollout, turns

from harness_adapters.gateway.transcript import Decision, JudgedCall, Transcript
from harness_adapters.train.groups import Fate, Scoring
from harness_adapters.types import Outcome, RewardTerm

SCORING = Scoring(min_group=2, std_floor=0.05, scale="group", longest=100)
STEPS = {"m": 0}


def test_a_group_gives_a_row_per_root_path_with_its_rollouts_advantage() -> None:
    group = [rollout(attempt=a, model="m", reward=r) for a, r in enumerate((1.0, 0.0, 1.0, 0.0))]
    scored = SCORING.score(3, group, STEPS)
    assert scored.fate is Fate.READY
    assert [row.tag for row in scored.rows] == [(3, a, 0) for a in range(4)]
    assert [round(row.advantage, 6) for row in scored.rows] == [1, -1, 1, -1]
    row = scored.rows[0]
    assert list(row.ids) == [1, 2, 3, 4, 5, 6, 7, 8]
    assert list(row.loss) == [0, 0, 0, 1, 1, 0, 1, 1]
    assert list(row.logprobs) == [0, 0, 0, -0.5, -0.5, 0, -0.5, -0.5]


def test_infra_is_left_out_of_the_baseline_and_never_a_zero() -> None:
    """RF37, RF22: one failing session leaves a group of the others."""
    group = [rollout(attempt=a, model="m", reward=r) for a, r in enumerate((1.0, None, 0.5))]
    scored = SCORING.score(0, group, STEPS)
    assert scored.attempts == (0, 2)
    assert [round(row.advantage, 6) for row in scored.rows] == [1, -1]


def test_too_few_scored_rollouts_are_dropped_and_equal_ones_skipped() -> None:
    small = [rollout(model="m"), rollout(attempt=1, model="m", reward=None)]
    assert SCORING.score(0, small, STEPS).fate is Fate.TOO_SMALL
    equal = [rollout(attempt=a, model="m") for a in range(3)]
    scored = SCORING.score(0, equal, STEPS)
    assert (scored.fate, scored.rows) == (Fate.ZERO_VARIANCE, ())


def test_a_logprob_that_is_no_number_rejects_its_row_and_one_at_a_masked_place_does_not() -> None:
    """RF38."""
    good, bad = rollout(model="m", reward=0.0), rollout(attempt=1, model="m")
    spoilt = replace(bad.transcript.turns[0], logprobs=array("f", [math.nan, -0.5]))
    transcript = replace(bad.transcript, turns=(spoilt, bad.transcript.turns[1]))
    scored = SCORING.score(0, [good, replace(bad, transcript=transcript)], STEPS)
    assert [row.tag.attempt for row in scored.rows] == [0]
    assert scored.rejected == {"bad_logprobs": 1}
    assert all(math.isfinite(p) for row in scored.rows for p in row.logprobs)
    assert any(math.isnan(p) for p in good.transcript.rows()[0].logprobs), "masked places are nan"


def test_a_session_without_turns_has_no_row_but_counts_in_the_baseline() -> None:
    """RF39."""
    silent = rollout(attempt=1, model="m", reward=0.0, transcript=Transcript())
    scored = SCORING.score(0, [rollout(model="m"), silent], STEPS)
    assert [row.tag.attempt for row in scored.rows] == [0]
    both = [
        rollout(attempt=a, model="m", reward=float(a), transcript=Transcript()) for a in range(2)
    ]
    assert SCORING.score(0, both, STEPS).fate is Fate.NO_ROWS


def test_a_row_beyond_the_token_budget_is_left_out_and_counted() -> None:
    group = [rollout(attempt=a, model="m", reward=float(a)) for a in range(2)]
    scored = replace(SCORING, longest=7).score(0, group, STEPS)
    assert (scored.fate, scored.rejected) == (Fate.NO_ROWS, {"too_long": 2})


def test_a_blocked_rollout_is_trained_with_its_calls_ids() -> None:
    blocked = rollout(attempt=1, model="m", reward=0.0)
    call = JudgedCall(id="c", name="bash", arguments={}, decision=Decision.BLOCK)
    last = replace(blocked.transcript.turns[1], calls=(call,))
    transcript = replace(blocked.transcript, turns=(blocked.transcript.turns[0], last))
    blocked = replace(blocked, transcript=transcript, outcome=Outcome.GUARD_BLOCKED, terms=[])
    scored = SCORING.score(0, [rollout(model="m"), blocked], STEPS)
    row = next(row for row in scored.rows if row.tag.attempt == 1)
    assert row.advantage < 0 and sum(row.loss) == 4


def test_a_reply_that_never_arrived_and_was_asked_for_again_is_not_trained() -> None:
    lost, again = turns(([1, 2, 3], [4, 5]), ([6], [7, 8]), model="m")
    lost = replace(lost, delivered=False)
    again = replace(again, parent=None, new_prompt_ids=array("i", [1, 2, 3]))
    one = rollout(model="m", transcript=Transcript(turns=(lost, again), token_exact=True))
    scored = SCORING.score(0, [one, rollout(attempt=1, model="m", reward=0.0)], STEPS)
    rows = [row for row in scored.rows if row.tag.attempt == 0]
    assert [list(row.ids) for row in rows] == [[1, 2, 3, 7, 8]]


def test_the_efficiency_share_is_what_the_verifier_does_not_supply() -> None:
    bonus = [RewardTerm(name="verifier", value=1.0), RewardTerm(name="tools", value=0.1)]
    group = [
        replace(rollout(attempt=0, model="m", reward=1.1), terms=bonus),
        rollout(attempt=1, model="m", reward=1.0),
    ]
    assert SCORING.score(0, group, STEPS).efficiency.value == pytest.approx(1.0)
    group[1] = rollout(attempt=1, model="m", reward=0.0)
    assert SCORING.score(0, group, STEPS).efficiency.value == pytest.approx(0.1 / 1.1)


def test_a_control_run_deals_the_same_advantages_at_random() -> None:
    group = [rollout(attempt=a, model="m", reward=float(a < 4)) for a in range(8)]
    own = SCORING.score(0, group, STEPS).advantages
    control = replace(SCORING, shuffled=7)
    dealt = {control.score(index, group, STEPS).advantages for index in range(20)}
    assert all(sorted(one) == sorted(own) for one in dealt)
    assert len(dealt) > 10, "each group in an order of its own"
    assert control.score(3, group, STEPS) == control.score(3, group, STEPS)
