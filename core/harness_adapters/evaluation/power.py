"""The smallest true effect that a comparison of this size would have found.

Printed beside every "no detectable change", since a small study finds nothing either way.
"""

from __future__ import annotations

from harness_adapters.evaluation.clustered import Clustered
from harness_adapters.evaluation.estimate import ALPHA
from harness_adapters.evaluation.quantiles import beta_quantile, t_quantile

POWER = 0.8
# The least number of clusters, all differing one way, that a two-sided sign flip at 5% accepts:
# 2 * 2^-6 = 0.031.
LEAST_CLUSTERS = 6


def minimum_detectable_effect(spread: Clustered) -> float | None:
    """``(t_{1-alpha/2} + t_{power}) se``, at 80% power and alpha 0.05.

    Bloom (1995), Evaluation Review 19; Miller (2024), arXiv:2411.00640, has z in place of t.
    ``None`` where there is no standard error, or it is 0: see ``minimum_detectable_share``.
    """
    if not spread.se or spread.df is None:
        return None
    return (t_quantile(1 - ALPHA / 2, spread.df) + t_quantile(POWER, spread.df)) * spread.se


def minimum_detectable_share(n_clusters: int) -> float | None:
    """For pairs that do not differ at all: the share of clusters that would have had to change, all
    one way and wholly, for the sign-flip test to find it with 80% power.

    It needs six changed clusters; P(Binomial(G, q) >= 6) = 0.8 at ``q = BetaInv(0.8; 6, G - 5)``.
    ``None`` for fewer than six clusters, which can show nothing.
    """
    if n_clusters < LEAST_CLUSTERS:
        return None
    return beta_quantile(POWER, LEAST_CLUSTERS, n_clusters - LEAST_CLUSTERS + 1)
