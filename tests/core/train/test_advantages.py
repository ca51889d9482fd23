from __future__ import annotations

import math

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from harness_adapters.train.advantages import (
    SAME,
    Share,
    UnfitReward,
    efficiency_share,
    group_advantages,
)

REWARDS = st.lists(st.floats(-2, 2), min_size=2, max_size=16)
FLOORS = st.floats(0, 1)


def test_the_published_formula_is_the_case_without_a_floor() -> None:
    assert group_advantages([1, 0, 0, 0], std_floor=0) == pytest.approx(
        [math.sqrt(3), *[-1 / math.sqrt(3)] * 3]
    )


def test_a_small_spread_stays_small() -> None:
    """Eight rollouts that all solved the task with four to eight calls: without a floor they
    differ as much as solved from failed ones."""
    rewards = [1 + 0.1 * (1 - calls / 15) for calls in (4, 4, 5, 5, 6, 7, 8, 8)]
    plain = group_advantages(rewards, std_floor=0)
    floored = group_advantages(rewards)
    assert plain is not None and floored is not None
    assert max(map(abs, plain)) > 1
    assert max(map(abs, floored)) < 0.4
    solved_or_not = group_advantages([1.0, 1, 1, 1, 0, 0, 0, 0])
    assert solved_or_not == [1, 1, 1, 1, -1, -1, -1, -1]


@pytest.mark.parametrize("rewards", [[], [1.0], [0.0] * 8, [0.1 + 0.2, 0.3], [1.1] * 3])
def test_a_group_without_variance_teaches_nothing(rewards: list[float]) -> None:
    assert group_advantages(rewards, std_floor=0) is None
    assert efficiency_share(rewards, rewards, std_floor=0) == Share(0, 0)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf, 1e10, -1e300])
def test_an_unfit_reward_is_an_error_and_names_its_rollout(bad: float) -> None:
    """RF37, RF38: nothing that is no number may reach a baseline."""
    with pytest.raises(UnfitReward, match="rollout 2 of a group"):
        group_advantages([1, 0, bad, 0])
    with pytest.raises(UnfitReward):
        efficiency_share([1, 0, 1, 0], [1, 0, bad, 0])


def test_wrong_use_is_refused() -> None:
    with pytest.raises(ValueError, match="negative"):
        group_advantages([1, 0], std_floor=-1)
    with pytest.raises(ValueError, match="2 rewards but 1 verifier"):
        efficiency_share([1, 0], [1])


@settings(deadline=None)
@given(REWARDS, FLOORS, st.sampled_from(["group", "none"]))
def test_advantages_keep_the_order_and_sum_to_zero(
    rewards: list[float], floor: float, scale: str
) -> None:
    found = group_advantages(rewards, std_floor=floor, scale=scale)  # type: ignore[arg-type]
    if found is None:
        assert max(rewards) - min(rewards) <= SAME
        return
    assert sum(found) == pytest.approx(0, abs=1e-6 * max(map(abs, found)))
    mean = sum(rewards) / len(rewards)
    for reward, advantage in zip(rewards, found, strict=True):
        if abs(reward - mean) > 1e-12:
            assert (advantage > 0) == (reward > mean), "better than the mean is a plus"
    ranked = [advantage for _, advantage in sorted(zip(rewards, found, strict=True))]
    assert ranked == sorted(ranked)


@settings(deadline=None)
@given(REWARDS, FLOORS)
def test_a_floor_never_raises_an_advantage(rewards: list[float], floor: float) -> None:
    plain, floored = (
        group_advantages(rewards, std_floor=0),
        group_advantages(rewards, std_floor=floor),
    )
    assert (plain is None) == (floored is None)
    for one, other in zip(plain or [], floored or [], strict=True):
        assert abs(other) <= abs(one) + 1e-12


@settings(deadline=None)
@given(REWARDS, st.floats(-1, 1), st.floats(0.1, 10))
def test_where_and_how_rewards_are_measured_makes_no_difference(
    rewards: list[float], shift: float, unit: float
) -> None:
    assume(max(rewards) - min(rewards) > 1e-3)
    one = group_advantages(rewards, std_floor=0)
    other = group_advantages([unit * reward + shift for reward in rewards], std_floor=0)
    assert other == pytest.approx(one, abs=1e-6)


@settings(deadline=None)
@given(st.lists(st.tuples(st.sampled_from([0.0, 1.0]), st.floats(0, 0.1)), min_size=2, max_size=12))
def test_the_efficiency_share_is_a_share(parts: list[tuple[float, float]]) -> None:
    verifier = [score for score, _ in parts]
    share = efficiency_share([score + bonus for score, bonus in parts], verifier)
    assert 0 <= share.value <= 1
    assert 0 <= share.part <= share.whole


def test_the_efficiency_share_of_known_groups() -> None:
    solved = [1.05, 1.02, 1.08, 1.0]
    assert efficiency_share(solved, [1.0] * 4).value == 1, "all solved: the bonus is all there is"
    assert efficiency_share([1, 0, 1, 0], [1, 0, 1, 0]).value == 0
    half = efficiency_share([1.5, 0.5, 0.5, -0.5], [1, 1, 0, 0])
    assert half.value == pytest.approx(0.5)
    assert efficiency_share([2.0, 0.0], [1.0, 0.0], scale="none") == Share(1.0, 2.0)


def test_shares_are_summed_over_groups_by_their_weight() -> None:
    """A group that hardly moves the policy must not count like one that does."""
    quiet = efficiency_share([1.001, 1.0], [1.0, 1.0])
    loud = efficiency_share([1.0, 0.0], [1.0, 0.0])
    both = Share(quiet.part + loud.part, quiet.whole + loud.whole)
    assert both.value < 0.02
