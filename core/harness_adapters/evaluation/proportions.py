"""Intervals of a plain count out of n independent trials."""

from __future__ import annotations

import math
from statistics import NormalDist

from harness_adapters.evaluation.estimate import ALPHA
from harness_adapters.evaluation.quantiles import beta_quantile


def clopper_pearson(count: int, n: int, alpha: float = ALPHA) -> tuple[float, float]:
    """The exact interval (Clopper & Pearson 1934, Biometrika 26), never too short: 0 of 213 still
    allows 1.7%. For rates that are claimed to be small, as of false blocks. ``(0, 1)`` for n = 0.
    """
    _check(count, n)
    lo = beta_quantile(alpha / 2, count, n - count + 1) if count else 0.0
    hi = beta_quantile(1 - alpha / 2, count + 1, n - count) if count < n else 1.0
    return lo, hi


def wilson(count: int, n: int, alpha: float = ALPHA) -> tuple[float, float]:
    """The score interval (Wilson 1927, J. Am. Stat. Assoc. 22), close to its level on average; for
    shares that are described rather than claimed. ``(0, 1)`` for n = 0."""
    _check(count, n)
    if n == 0:
        return 0.0, 1.0
    z = NormalDist().inv_cdf(1 - alpha / 2)
    share = count / n
    centre = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * math.sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    lo = 0.0 if count == 0 else max(0.0, centre - half)
    hi = 1.0 if count == n else min(1.0, centre + half)
    return lo, hi


def _check(count: int, n: int) -> None:
    if not 0 <= count <= n:
        raise ValueError(f"{count} out of {n} is no proportion")
