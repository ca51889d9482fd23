"""The contract of a reward shaper."""

from __future__ import annotations

import math
import pickle
from typing import ClassVar

import pytest

from harness_adapters.errors import BadInput
from harness_adapters.outcomes import BLOCKED, reward
from harness_adapters.plugins import Plugins
from harness_adapters.protocols import Options, RewardShaper
from harness_adapters.testing.attempts import finished_attempts
from harness_adapters.types import Outcome, RewardTerm


class RewardShaperContract:
    """A shaper that is pure and gives one finite, named term for any attempt.

    Mandatory: every test.

    :cvar name: the shaper's registered name.
    :cvar options: what it is created with.
    :cvar bound: how large its term may be, either way. The verifier's score is 0 to 1, and a
        bonus that outweighs it teaches the bonus.
    """

    name: ClassVar[str]
    options: ClassVar[Options] = {}
    bound: ClassVar[float] = 1.0

    @pytest.fixture
    def shaper(self) -> RewardShaper:
        return Plugins.load().rewards.create(self.name, self.options)

    def test_it_refuses_an_unknown_option(self) -> None:
        with pytest.raises(BadInput):
            Plugins.load().rewards.create(self.name, {**self.options, "no_such_option": 1})

    def test_its_term_is_finite_bounded_and_always_has_one_name(self, shaper: RewardShaper) -> None:
        names = set()
        for one in finished_attempts():
            term = shaper.shape(one)
            assert isinstance(term, RewardTerm)
            assert math.isfinite(term.value) and abs(term.value) <= self.bound, (one.outcome, term)
            names.add(term.name)
        assert len(names) == 1 and "" not in names, names
        assert names != {"verifier"}, "that name is the verifier's own"

    def test_it_is_deterministic_and_changes_nothing(self, shaper: RewardShaper) -> None:
        attempts = finished_attempts()
        forwards = [shaper.shape(one) for one in attempts]
        backwards = [shaper.shape(one) for one in reversed(finished_attempts())]
        assert forwards == backwards[::-1], "a term may depend on nothing but its attempt"
        assert pickle.dumps(attempts) == pickle.dumps(finished_attempts())

    def test_a_blocked_attempt_earns_nothing(self, shaper: RewardShaper) -> None:
        for one in finished_attempts():
            if one.outcome in BLOCKED or one.outcome is Outcome.AGENT_BROKE_VERIFIER:
                assert reward(one, [shaper]) == (0.0, [])
