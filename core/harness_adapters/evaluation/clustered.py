"""Means and ratios of sums over tasks, with standard errors that respect clusters of tasks.

A mean is the ratio of sums whose denominator is 1 for every task, so one estimator serves both.
With y the numerators, x the denominators (not negative) and r = sum(y) / sum(x), r is the weighted
least squares slope of y on x through the origin with weights 1/x, that is, under the working model
that var(y) is proportional to x and tasks are independent. For that single-regressor model the
bias-reduced linearisation "CR2" of Bell & McCaffrey (2002, Survey Methodology 28) has a closed
form, since the clusters' regressors are eigenvectors of their own leverage blocks::

    S_g = sum over tasks of cluster g of (y - r x)         X_g = sum of x,  h_g = X_g / sum(x)
    se^2 = sum_g S_g^2 / (1 - h_g) / sum(x)^2

Degrees of freedom are Satterthwaite's for CR2 (Bell & McCaffrey; Pustejovsky & Tipton 2018, J. Bus.
Econ. Stat. 36, arXiv:1601.01981). Under the working model, up to a factor, cov(S_g, S_h) is
``m_gh = h_g [g = h] - h_g h_h``, and with c_g = 1 / (1 - h_g)::

    df = (sum_g c_g m_gg)^2 / sum_gh c_g c_h m_gh^2

It is G - 1 when all clusters weigh the same and less when a few weigh much. It is used instead of
t(G - 1) because simulation says so: with 20 clusters of unequal size t(G - 1) covers 93.8 and 94.5%
for the difference of pass@1 and 93.2 and 93.3% for the ratio of calls, Satterthwaite's 94.9 and
95.4%, 94.5 and 95.6% (``scripts/evidence coverage``). Intervals of ratios are made on the log scale
(delta method), which keeps them positive.
Averaging k attempts within a task before clustering: Miller (2024), arXiv:2411.00640.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from harness_adapters.evaluation.estimate import ALPHA, Estimate, nothing
from harness_adapters.evaluation.quantiles import t_quantile

NO_TASK = "no task to estimate from"
ONE_CLUSTER = "one cluster: no spread between clusters can be seen"
NO_SPREAD = "every cluster says the same: no spread to make an interval of"
_ROUNDING = 1e-12  # a spread below this share of the numbers' size is rounding


@dataclass(frozen=True, slots=True, kw_only=True)
class Clustered:
    """A ratio of sums (or a mean) and how it varies between clusters.

    :param est: ``None`` where the denominators sum to 0.
    :param se: standard error, exactly 0.0 when no cluster deviates; ``None`` where undefined.
    :param df: degrees of freedom for a t quantile; ``None`` with ``se``.
    :param n_clusters: clusters with a denominator above 0.
    :param reason: why something is ``None``.
    """

    est: float | None
    se: float | None
    df: float | None
    n_tasks: int
    n_clusters: int
    reason: str = ""

    def half_width(self, alpha: float = ALPHA) -> float | None:
        """Of the two-sided ``1 - alpha`` interval; ``None`` where there is none."""
        if self.se is None or self.df is None:
            return None
        return t_quantile(1 - alpha / 2, self.df) * self.se

    def log_interval(self) -> Estimate:
        """The 95% interval made on the log scale, for a ratio that cannot be negative."""
        half = self.half_width()
        if self.est is None or half is None:
            return nothing(self.reason, est=self.est, n_tasks=self.n_tasks)
        if self.est <= 0:
            return nothing("a ratio of 0 has no logarithm", est=self.est, n_tasks=self.n_tasks)
        factor = math.exp(min(half / self.est, 700.0))
        return Estimate(
            est=self.est,
            lo=self.est / factor,
            hi=self.est * factor,
            n_tasks=self.n_tasks,
            reason=NO_SPREAD if self.se == 0 else "",
        )

    def bounded_interval(self, low: float, high: float) -> Estimate:
        """The 95% interval of a mean of values that lie in ``[low, high]``."""
        half = self.half_width()
        if self.est is None or half is None:
            return nothing(self.reason, est=self.est, n_tasks=self.n_tasks)
        if self.se == 0:
            lo, hi = no_spread_interval(self.est, self.n_clusters, low, high)
            reason = NO_SPREAD_BOUND
        else:
            lo, hi = max(low, self.est - half), min(high, self.est + half)
            reason = ""
        return Estimate(est=self.est, lo=lo, hi=hi, n_tasks=self.n_tasks, reason=reason)


NO_SPREAD_BOUND = "every cluster says the same: the interval bounds what clusters like these hide"


def no_spread_interval(
    est: float, n_clusters: int, low: float, high: float, alpha: float = ALPHA
) -> tuple[float, float]:
    """What may still be true of a bounded mean when all clusters agree exactly.

    None of ``n_clusters`` deviates, so with confidence at most a share ``u`` of all clusters does
    (Clopper & Pearson 1934 for 0 of G: ``u = 1 - (alpha/2)^(1/G)``); the bound lets all of these
    lie at the far end. Clusters count as equal in size.
    """
    u = 1 - (alpha / 2) ** (1 / n_clusters)
    return est - u * (est - low), est + u * (high - est)


def ratio_of_sums(
    numerators: ArrayLike, denominators: ArrayLike, clusters: Sequence[str]
) -> Clustered:
    """``sum(numerators) / sum(denominators)`` over tasks, with its CR2 standard error.

    :param numerators: one finite number per task, ``float[n]``.
    :param denominators: not negative, ``float[n]``.
    :param clusters: the cluster of each task, ``n`` names.
    """
    y = np.asarray(numerators, dtype=float)
    x = np.asarray(denominators, dtype=float)
    n = len(y)
    if n == 0:
        return _undefined(NO_TASK)
    names, code = np.unique(np.asarray(clusters), return_inverse=True)
    x_cluster = np.bincount(code, weights=x, minlength=len(names))
    total = float(x.sum())
    n_clusters = int(np.count_nonzero(x_cluster))
    if total <= 0:
        return _undefined("the denominators sum to 0", n_tasks=n)
    est = float(y.sum()) / total
    share = x_cluster / total
    if n_clusters < 2 or share.max() > 1 - _ROUNDING:
        return _undefined(ONE_CLUSTER, est=est, n_tasks=n, n_clusters=n_clusters)
    scores = np.bincount(code, weights=y - est * x, minlength=len(names))
    se = float(np.sqrt(np.sum(scores**2 / (1 - share)))) / total
    if se <= _ROUNDING * float(np.abs(y).sum()) / total:
        se = 0.0
    return Clustered(est=est, se=se, df=satterthwaite(share), n_tasks=n, n_clusters=n_clusters)


def mean(values: ArrayLike, clusters: Sequence[str]) -> Clustered:
    """The mean over tasks, with its CR2 standard error."""
    array = np.asarray(values, dtype=float)
    return ratio_of_sums(array, np.ones_like(array), clusters)


def ratio_of_ratios(
    run: tuple[ArrayLike, ArrayLike], base: tuple[ArrayLike, ArrayLike], clusters: Sequence[str]
) -> Estimate:
    """``(sum y1 / sum x1) / (sum y0 / sum x0)`` over the same tasks, for costs per solve.

    The logarithm is linearised task by task, ``u = y1/Y1 - x1/X1 - y0/Y0 + x0/X0``, and its sum
    gets the CR2 standard error of a mean of ``n u``.

    :param run: numerators and denominators of the run, ``float[n]`` each.
    """
    arrays = [np.asarray(part, dtype=float) for part in (*run, *base)]
    sums = [float(part.sum()) for part in arrays]
    n = len(clusters)
    if not all(total > 0 for total in sums):
        return nothing("one arm has no solve or no cost", n_tasks=n)
    y1, x1, y0, x0 = (part / total for part, total in zip(arrays, sums, strict=True))
    spread = mean(n * (y1 - x1 - y0 + x0), clusters)
    est = (sums[0] / sums[1]) / (sums[2] / sums[3])
    half = spread.half_width()
    if half is None:
        return nothing(spread.reason, est=est, n_tasks=n)
    factor = math.exp(min(half, 700.0))
    reason = NO_SPREAD if spread.se == 0 else ""
    return Estimate(est=est, lo=est / factor, hi=est * factor, n_tasks=n, reason=reason)


def satterthwaite(share: NDArray[np.float64]) -> float:
    """Degrees of freedom of the CR2 variance; ``share`` is each cluster's part of the denominator.

    The double sum of ``c_g c_h m_gh^2`` is taken as a product of single sums plus its diagonal, so
    that it costs O(G).
    """
    h = share[share > 0]
    c = 1 / (1 - h)
    off_diagonal = float(np.sum(c * h**2)) ** 2 - float(np.sum((c * h**2) ** 2))
    diagonal = float(np.sum(h**2))  # (c h (1 - h))^2 = h^2
    return 1 / (off_diagonal + diagonal)  # sum_g c_g m_gg = sum_g h_g = 1


def _undefined(
    reason: str, *, est: float | None = None, n_tasks: int = 0, n_clusters: int = 0
) -> Clustered:
    return Clustered(
        est=est, se=None, df=None, n_tasks=n_tasks, n_clusters=n_clusters, reason=reason
    )
