"""The reward contract catches shapers that break it."""

from __future__ import annotations

import math

import pytest

from harness_adapters import Attempt, RewardTerm
from harness_adapters.testing import RewardShaperContract


class Contract(RewardShaperContract):
    name = "mine"


class Shaper:
    """Gives the values in turn."""

    def __init__(self, *values: float, name: str = "mine") -> None:
        self.values = list(values)
        self.name = name

    def shape(self, attempt: Attempt) -> RewardTerm:
        self.values.append(self.values.pop(0))
        return RewardTerm(name=self.name, value=self.values[-1])


class ByOutcome:
    def shape(self, attempt: Attempt) -> RewardTerm:
        return RewardTerm(name=attempt.outcome, value=0.0)


@pytest.mark.parametrize(
    "shaper",
    [
        pytest.param(Shaper(math.nan), id="no number"),
        pytest.param(Shaper(math.inf), id="infinite"),
        pytest.param(Shaper(5.0), id="outweighs the verifier"),
        pytest.param(Shaper(0.1, name=""), id="without a name"),
        pytest.param(Shaper(0.1, name="verifier"), id="under the verifier's name"),
    ],
)
def test_a_term_that_no_reward_can_hold(shaper: Shaper) -> None:
    with pytest.raises(AssertionError):
        Contract().test_its_term_is_finite_bounded_and_always_has_one_name(shaper)


def test_names_that_change() -> None:
    with pytest.raises(AssertionError):
        Contract().test_its_term_is_finite_bounded_and_always_has_one_name(ByOutcome())


def test_a_shaper_that_remembers() -> None:
    with pytest.raises(AssertionError, match="nothing but its attempt"):
        Contract().test_it_is_deterministic_and_changes_nothing(Shaper(0.1, 0.2, 0.3))


def test_a_good_one() -> None:
    kit, shaper = Contract(), Shaper(0.1)
    kit.test_its_term_is_finite_bounded_and_always_has_one_name(shaper)
    kit.test_it_is_deterministic_and_changes_nothing(shaper)
    kit.test_a_blocked_attempt_earns_nothing(shaper)
