"""The sign-flip permutation test of a paired difference, flipping whole clusters.

If the arms are interchangeable, each cluster's total difference could as well have had the other
sign. The p-value is the share of all ``2^G`` sign patterns whose total is at least as far from 0
as the one seen (Fisher 1935, The Design of Experiments, section 21; Hemerik & Goeman 2018, TEST 27,
for groups of transformations), exact up to 16 clusters that differ, else over seeded random
patterns with the seen one counted in, which keeps the test valid (Phipson & Smyth 2010,
arXiv:1603.05766).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

EXACT_UP_TO = 16
DRAWS = 20_000
_CHUNK = 2_000


def sign_flip(differences: ArrayLike, clusters: Sequence[str], *, seed: int = 0) -> float | None:
    """The two-sided p-value, or ``None`` without any task.

    :param differences: run minus base, one per task, ``float[n]``.
    """
    values = np.asarray(differences, dtype=float)
    if not len(values):
        return None
    _, code = np.unique(np.asarray(clusters), return_inverse=True)
    totals: NDArray[np.float64] = np.bincount(code, weights=values).astype(float)
    slack = 1e-9 * float(np.abs(values).sum())  # equal sums of fractions differ by rounding
    totals = totals[np.abs(totals) > slack]  # flipping a zero changes nothing
    seen = abs(float(totals.sum())) - slack
    if len(totals) <= EXACT_UP_TO:
        return float(np.mean(np.abs(_all_sums(totals)) >= seen))
    random = np.random.default_rng(seed)
    hits = 0
    for _ in range(0, DRAWS, _CHUNK):
        flips = random.integers(0, 2, size=(_CHUNK, len(totals)), dtype=np.int8)
        hits += int(np.count_nonzero(np.abs((1.0 - 2.0 * flips) @ totals) >= seen))
    return (1 + hits) / (1 + DRAWS)


def _all_sums(totals: NDArray[np.float64]) -> NDArray[np.float64]:
    sums = np.zeros(1)
    for total in totals:
        sums = np.concatenate((sums + total, sums - total))
    return sums
