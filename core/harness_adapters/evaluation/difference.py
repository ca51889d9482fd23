"""The paired, clustered difference of pass@1 between a run and its base."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from harness_adapters.evaluation.clustered import Clustered, mean
from harness_adapters.evaluation.power import minimum_detectable_effect, minimum_detectable_share
from harness_adapters.evaluation.sign_flip import sign_flip


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """Run minus base, in shares (0.08 is 8 points).

    :param p: of the cluster sign-flip test, two-sided.
    :param mde: the smallest difference that this comparison detects with 80% power.
    :param spread: the estimate with its standard error and degrees of freedom.
    :param reason: why something is ``None``, or the interval not the usual one.
    """

    est: float | None
    lo: float | None
    hi: float | None
    p: float | None
    mde: float | None
    n_tasks: int
    n_clusters: int
    spread: Clustered
    reason: str = ""

    def to_json(self) -> dict[str, Any]:
        names = ("est", "lo", "hi", "p", "mde", "n_tasks", "n_clusters")
        return {name: getattr(self, name) for name in names}


def paired_difference(
    run: ArrayLike, base: ArrayLike, clusters: Sequence[str], *, seed: int = 0
) -> Difference:
    """Compare two arms on the same tasks.

    The unit is the task: the attempts are averaged within it first (Miller 2024, arXiv:2411.00640),
    the pair's difference is taken, and the mean over tasks gets the CR2 standard error of
    ``clustered``. An interval that no spread allows is the exact bound of ``no_spread_interval``.

    :param run: share of attempts that solved, per task, ``float[n]`` in [0, 1]; ``base`` alike.
    :param seed: for the permutation test where there are too many clusters to list all patterns.
    """
    values = np.asarray(run, dtype=float) - np.asarray(base, dtype=float)
    spread = mean(values, clusters)
    interval = spread.bounded_interval(-1.0, 1.0)
    if spread.se == 0:
        mde = minimum_detectable_share(spread.n_clusters)
    else:
        mde = minimum_detectable_effect(spread)
    return Difference(
        est=spread.est,
        lo=interval.lo,
        hi=interval.hi,
        p=sign_flip(values, clusters, seed=seed),
        mde=mde,
        n_tasks=spread.n_tasks,
        n_clusters=spread.n_clusters,
        spread=spread,
        reason=interval.reason,
    )
