"""The closed forms against a general CR2 in matrices, and against statsmodels."""

from __future__ import annotations

import math

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import linalg, stats

from harness_adapters.evaluation.clustered import (
    NO_SPREAD,
    ONE_CLUSTER,
    mean,
    no_spread_interval,
    ratio_of_ratios,
    ratio_of_sums,
)

Array = NDArray[np.float64]


def tasks(seed: int, n: int = 60, groups: int = 12) -> tuple[Array, Array, list[str]]:
    random = np.random.default_rng(seed)
    clusters = [f"c{code}" for code in random.integers(0, groups, n)]
    x = random.uniform(1, 9, n)
    return 0.7 * x + random.normal(0, 1, n), x, clusters


def general_cr2(y: Array, x: Array, clusters: list[str]) -> tuple[float, float, float]:
    """Slope, CR2 standard error and Satterthwaite degrees of freedom by their definitions, in full
    matrices, for least squares of y on x through the origin with working variance x."""
    ys, xs = y / np.sqrt(x), (x / np.sqrt(x))[:, None]
    n = len(y)
    bread = np.linalg.inv(xs.T @ xs)
    hat = xs @ bread @ xs.T
    residual = ys - hat @ ys
    variance, directions = 0.0, []
    for name in sorted(set(clusters)):
        mine = np.array([one == name for one in clusters])
        block = np.eye(mine.sum()) - hat[np.ix_(mine, mine)]
        adjust = linalg.fractional_matrix_power(block, -0.5).real
        direction = (np.eye(n) - hat)[mine].T @ adjust @ xs[mine] @ bread
        score = bread @ xs[mine].T @ adjust @ residual[mine]
        variance += float(score[0]) ** 2
        directions.append(direction[:, 0])
    products = np.array(directions) @ np.array(directions).T
    df = np.trace(products) ** 2 / np.sum(products**2)
    return float(bread[0, 0] * (xs[:, 0] @ ys)), math.sqrt(variance), float(df)


@pytest.mark.parametrize("seed", range(4))
def test_ratio_is_cr2_with_satterthwaite_by_the_book(seed: int) -> None:
    y, x, clusters = tasks(seed)
    got = ratio_of_sums(y, x, clusters)
    est, se, df = general_cr2(y, x, clusters)
    assert got.est == pytest.approx(est, abs=1e-8)
    assert got.se == pytest.approx(se, abs=1e-8)
    assert got.df == pytest.approx(df, abs=1e-8)


@pytest.mark.parametrize("seed", range(4))
def test_mean_is_cr2_with_satterthwaite_by_the_book(seed: int) -> None:
    y, x, clusters = tasks(seed)
    got = mean(y, clusters)
    est, se, df = general_cr2(y, np.ones_like(x), clusters)
    assert (got.est, got.se, got.df) == pytest.approx((est, se, df), abs=1e-8)


def test_with_a_task_per_cluster_it_is_hc2_of_statsmodels() -> None:
    y, x, _ = tasks(5)
    alone = [str(number) for number in range(len(y))]
    model = sm.WLS(y, x[:, None], weights=1 / x).fit(cov_type="HC2")
    got = ratio_of_sums(y, x, alone)
    assert got.est == pytest.approx(model.params[0], abs=1e-8)
    assert got.se == pytest.approx(model.bse[0], abs=1e-8)


def test_with_equal_clusters_it_is_the_cluster_robust_error_of_statsmodels() -> None:
    random = np.random.default_rng(6)
    code = np.repeat(np.arange(15), 4)
    y = random.normal(0, 1, 60) + random.normal(0, 1, 15)[code]
    fit = sm.OLS(y, np.ones(60)).fit(cov_type="cluster", cov_kwds={"groups": code}, use_t=True)
    # statsmodels has CR1 with (n - 1) / (n - k) too, which is 1 here
    got = mean(y, [str(one) for one in code])
    assert got.se == pytest.approx(fit.bse[0], abs=1e-8)
    assert got.df == pytest.approx(14, abs=1e-8)
    half = got.half_width()
    assert half is not None
    assert half == pytest.approx(stats.t.ppf(0.975, 14) * fit.bse[0], abs=1e-8)


def test_equal_clusters_of_one_task_are_the_textbook_t_interval() -> None:
    y = np.random.default_rng(7).normal(0, 1, 30)
    interval = mean(y, [str(n) for n in range(30)]).bounded_interval(-9, 9)
    lo, hi = stats.ttest_1samp(y, 0).confidence_interval()
    assert (interval.lo, interval.hi) == pytest.approx((lo, hi), abs=1e-8)


def test_a_ratio_of_ratios_with_equal_denominators_is_a_ratio() -> None:
    y, x, clusters = tasks(8)
    ones = np.ones_like(x)
    got = ratio_of_ratios((y, ones), (x, ones), clusters)
    plain = ratio_of_sums(y, x, clusters)
    assert plain.est is not None and got.lo is not None and got.hi is not None
    assert got.est == pytest.approx(plain.est)
    log_interval = plain.log_interval()
    assert got.lo == pytest.approx(log_interval.lo, rel=0.02)
    assert got.hi == pytest.approx(log_interval.hi, rel=0.02)


def test_a_ratio_of_ratios_needs_solves_in_both_arms() -> None:
    got = ratio_of_ratios(([3.0], [0.0]), ([3.0], [1.0]), ["c"])
    assert got.est is None and "no solve" in got.reason


def test_without_tasks_there_is_no_estimate() -> None:
    got = mean([], [])
    assert (got.est, got.se, got.df, got.n_tasks) == (None, None, None, 0)
    assert got.log_interval().reason and got.bounded_interval(0, 1).reason


def test_without_denominators_there_is_no_estimate() -> None:
    got = ratio_of_sums([1.0, 2.0], [0.0, 0.0], ["a", "b"])
    assert got.est is None and "sum to 0" in got.reason


@pytest.mark.parametrize("values", [[1.0], [0.0, 1.0, 1.0]])
def test_one_cluster_gives_an_estimate_and_says_why_no_interval(values: list[float]) -> None:
    got = mean(values, ["c"] * len(values)).bounded_interval(0, 1)
    assert got.est == pytest.approx(sum(values) / len(values))
    assert (got.lo, got.hi, got.reason) == (None, None, ONE_CLUSTER)


def test_no_spread_in_a_mean_gives_the_exact_bound_instead_of_no_width() -> None:
    got = mean([0.0] * 213, [str(n) for n in range(213)]).bounded_interval(-1, 1)
    exact = stats.binomtest(0, 213).proportion_ci(method="exact").high
    assert got.est == 0
    assert (got.lo, got.hi) == pytest.approx((-exact, exact), abs=1e-8)
    assert got.reason


def test_no_spread_in_a_ratio_is_said() -> None:
    got = ratio_of_sums([0.3, 0.6, 0.9], [1.0, 2.0, 3.0], ["a", "b", "c"]).log_interval()
    assert (got.est, got.lo, got.hi) == pytest.approx((0.3, 0.3, 0.3))
    assert got.reason == NO_SPREAD


def test_a_ratio_of_zero_has_no_log_interval() -> None:
    got = ratio_of_sums([0.0, 0.0], [1.0, 2.0], ["a", "b"]).log_interval()
    assert (got.est, got.lo) == (0.0, None) and got.reason


COUNTS = st.just(0.0) | st.floats(0.01, 50)


@settings(deadline=None)
@given(rows=st.lists(st.tuples(COUNTS, COUNTS, st.sampled_from("abcd")), max_size=30))
def test_never_nan_and_the_interval_holds_the_estimate(
    rows: list[tuple[float, float, str]],
) -> None:
    y, x, clusters = [r[0] for r in rows], [r[1] for r in rows], [r[2] for r in rows]
    got = ratio_of_sums(y, x, clusters)
    for value in (got.est, got.se, got.df):
        assert value is None or math.isfinite(value)
    assert (got.est is None or got.se is None) == bool(got.reason)
    if got.df is not None:
        assert 1 - 1e-6 <= got.df <= got.n_clusters - 1 + 1e-6
    interval = got.log_interval()
    if interval.lo is not None and interval.hi is not None and interval.est is not None:
        assert interval.lo <= interval.est <= interval.hi


@settings(deadline=None)
@given(
    rows=st.lists(st.tuples(st.floats(-1, 1), st.sampled_from("abcdef")), min_size=2, max_size=30),
    order=st.randoms(use_true_random=False),
)
def test_order_and_names_of_clusters_do_not_matter(
    rows: list[tuple[float, str]], order: object
) -> None:
    shuffled = list(rows)
    order.shuffle(shuffled)  # type: ignore[attr-defined]
    one = mean([v for v, _ in rows], [c for _, c in rows])
    two = mean([v for v, _ in shuffled], [c + c for _, c in shuffled])
    assert (one.est, one.se, one.df) == pytest.approx((two.est, two.se, two.df), abs=1e-9)


@settings(deadline=None)
@given(est=st.floats(-1, 1), clusters=st.integers(1, 500))
def test_the_bound_without_spread_stays_in_range(est: float, clusters: int) -> None:
    lo, hi = no_spread_interval(est, clusters, -1, 1)
    assert -1 - 1e-12 <= lo <= est <= hi <= 1 + 1e-12
