"""Permutation, power, Holm, equivalence, pass@k and proportions, against independent sources."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import proportion_confint
from statsmodels.stats.weightstats import DescrStatsW

from harness_adapters import BadInput
from harness_adapters.evaluation.clustered import mean
from harness_adapters.evaluation.difference import paired_difference
from harness_adapters.evaluation.equivalence import tost
from harness_adapters.evaluation.holm import holm
from harness_adapters.evaluation.pass_at_k import pass_at_k, pass_hat_k
from harness_adapters.evaluation.power import minimum_detectable_effect, minimum_detectable_share
from harness_adapters.evaluation.proportions import clopper_pearson, wilson
from harness_adapters.evaluation.sign_flip import sign_flip


def alone(n: int) -> list[str]:
    return [str(number) for number in range(n)]


# --- permutation ----------------------------------------------------------------------------------


def test_sign_flip_is_the_exact_test_of_scipy() -> None:
    values = np.random.default_rng(1).normal(0.4, 1, 12)
    scipy = stats.permutation_test(
        (values,), np.sum, permutation_type="samples", n_resamples=np.inf
    )
    assert sign_flip(values, alone(12)) == pytest.approx(scipy.pvalue, abs=1e-8)


def test_whole_clusters_flip() -> None:
    values, clusters = [0.5, 0.5, 0.5, 0.25, -0.25], ["a", "a", "b", "c", "c"]
    assert sign_flip(values, clusters) == sign_flip([1.0, 0.5, 0.0], ["a", "b", "c"]) == 0.5


def test_sampled_patterns_come_close_to_all_and_are_repeatable() -> None:
    values = np.random.default_rng(2).normal(0.45, 1, 17)
    signs = np.array(list(itertools.product((1, -1), repeat=17)))
    exact = float(np.mean(np.abs(signs @ values) >= abs(values.sum()) - 1e-12))
    sampled = sign_flip(values, alone(17), seed=3)
    assert sampled == pytest.approx(exact, abs=0.01)
    assert sampled == sign_flip(values, alone(17), seed=3)


def test_a_permutation_p_is_never_zero() -> None:
    p = sign_flip([1.0] * 200, alone(200))
    assert p is not None and 0 < p < 0.001


def test_fractions_that_round_differently_are_still_ties() -> None:
    third = [1 / 3, 1 / 3, 1 / 3, -(1 - 2 / 3), 0.1 + 0.2, -0.3]
    assert sign_flip(third, alone(6)) == sign_flip([1, 1, 1, -1, 0.9, -0.9], alone(6))


def test_no_difference_has_p_one_and_no_task_has_none() -> None:
    assert sign_flip([0.0, 0.0], alone(2)) == 1
    assert sign_flip([1.0], ["c"]) == 1
    assert sign_flip([], []) is None


# --- power ----------------------------------------------------------------------------------------


def test_the_minimum_detectable_effect_is_found_four_times_in_five() -> None:
    random = np.random.default_rng(4)
    se = 1 / math.sqrt(40)
    spread = mean(random.normal(0, 1, 40), alone(40))
    effect = minimum_detectable_effect(spread)
    assert effect is not None and spread.se is not None
    noncentral = effect / spread.se
    power = 1 - stats.nct.cdf(stats.t.ppf(0.975, 39), 39, noncentral)
    assert power == pytest.approx(0.8, abs=0.005)
    assert effect == pytest.approx((1.96 + 0.84) * se, rel=0.35)


def test_a_hundred_and_fifty_pairs_detect_about_ten_points() -> None:
    """With one attempt and a fifth of the tasks ending otherwise in the other arm."""
    run = [1.0] * 15 + [0.0] * 15 + [1.0] * 120
    base = [0.0] * 15 + [1.0] * 15 + [1.0] * 120
    effect = paired_difference(run, base, alone(150)).mde
    assert effect == pytest.approx(0.10, abs=0.01)


def test_the_detectable_share_is_found_four_times_in_five() -> None:
    share = minimum_detectable_share(24)
    assert share is not None
    assert stats.binom.sf(5, 24, share) == pytest.approx(0.8, abs=1e-8)
    assert sign_flip([1.0] * 6 + [0.0] * 18, alone(24)) == pytest.approx(0.03125)
    assert minimum_detectable_share(5) is None


# --- several runs ---------------------------------------------------------------------------------


@pytest.mark.parametrize("p_values", [[0.04], [0.01, 0.02, 0.03, 0.2], [0.5, 0.5, 1e-4], [0, 1]])
def test_holm_is_that_of_statsmodels(p_values: list[float]) -> None:
    theirs = multipletests(p_values, method="holm")[1]
    assert holm(list(p_values)) == pytest.approx(list(theirs), abs=1e-8)


@settings(deadline=None)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_holm_only_raises_and_keeps_the_order(p_values: list[float]) -> None:
    adjusted = [p for p in holm(list(p_values)) if p is not None]
    assert all(a >= p and a <= 1 for a, p in zip(adjusted, p_values, strict=True))
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    assert [adjusted[i] for i in order] == sorted(adjusted)


def test_holm_leaves_out_what_has_no_p_value() -> None:
    assert holm([0.03, None, 0.02]) == [pytest.approx(0.04), None, pytest.approx(0.04)]
    assert holm([]) == []


# --- equivalence ----------------------------------------------------------------------------------


@pytest.mark.parametrize("shift", [-0.1, 0.0, 0.04, 0.3])
def test_tost_is_that_of_statsmodels(shift: float) -> None:
    values = np.random.default_rng(9).uniform(-0.2, 0.2, 50) + shift
    theirs = DescrStatsW(values).ttost_mean(-0.05, 0.05)[0]
    ours = tost(mean(values, alone(50)), 0.05)
    assert ours.p == pytest.approx(theirs, abs=1e-8)
    assert ours.shown == (theirs < 0.05)


def test_equality_on_few_tasks_is_not_equivalence() -> None:
    """No pair of 24 differs: 8% of all such tasks could still differ, so 5 points are not shown."""
    assert not tost(mean([0.0] * 24, alone(24)), 0.05).shown
    many = tost(mean([0.0] * 150, alone(150)), 0.05)
    assert many.shown and many.p == pytest.approx(0.95**150)


def test_a_shift_beyond_the_margin_is_never_equivalent() -> None:
    assert tost(mean([1.0] * 30, alone(30)), 0.05).p == 1
    assert tost(mean([], []), 0.05).p is None


@pytest.mark.parametrize("margin", [0.0, -0.1, 1.0, math.nan])
def test_a_margin_must_make_sense(margin: float) -> None:
    with pytest.raises(BadInput, match="margin"):
        tost(mean([0.0], ["c"]), margin)


# --- pass@k ---------------------------------------------------------------------------------------


@settings(deadline=None)
@given(st.integers(1, 12), st.data())
def test_pass_at_k_is_the_mean_over_all_choices(n: int, data: st.DataObject) -> None:
    solved = data.draw(st.integers(0, n))
    k = data.draw(st.integers(1, n))
    attempts = [1] * solved + [0] * (n - solved)
    choices = list(itertools.combinations(attempts, k))
    assert pass_at_k(n, solved, k) == pytest.approx(np.mean([any(c) for c in choices]), abs=1e-8)
    assert pass_hat_k(n, solved, k) == pytest.approx(np.mean([all(c) for c in choices]), abs=1e-8)


@pytest.mark.parametrize(("n", "solved", "k"), [(3, 1, 4), (3, 4, 1), (3, 1, 0), (0, 0, 1)])
def test_pass_at_more_than_was_tried_is_refused(n: int, solved: int, k: int) -> None:
    with pytest.raises(ValueError, match="gives no pass@"):
        pass_at_k(n, solved, k)


# --- proportions ----------------------------------------------------------------------------------


@settings(deadline=None)
@given(st.integers(1, 400), st.data())
def test_proportions_are_those_of_statsmodels(n: int, data: st.DataObject) -> None:
    count = data.draw(st.integers(0, n))
    exact = proportion_confint(count, n, method="beta")
    score = proportion_confint(count, n, method="wilson")
    assert clopper_pearson(count, n) == pytest.approx(exact, abs=1e-8)
    assert wilson(count, n) == pytest.approx(score, abs=1e-8)


def test_no_block_in_213_still_allows_1_7_percent() -> None:
    assert clopper_pearson(0, 213) == pytest.approx((0.0, 0.0172), abs=1e-4)


def test_no_trial_says_nothing() -> None:
    assert clopper_pearson(0, 0) == wilson(0, 0) == (0.0, 1.0)
    with pytest.raises(ValueError, match="no proportion"):
        wilson(2, 1)
