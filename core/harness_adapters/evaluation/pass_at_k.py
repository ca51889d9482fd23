"""pass@k and pass^k of one task, from the attempts that were counted."""

from __future__ import annotations

from math import comb


def pass_at_k(n: int, solved: int, k: int) -> float:
    """The chance that at least one of k attempts solves: ``1 - C(n - c, k) / C(n, k)``.

    The unbiased estimator of Chen et al. (2021), arXiv:2107.03374, eq. 1, in exact integers.

    :param n: counted attempts, at least ``k``.
    """
    _check(n, solved, k)
    return 1 - comb(n - solved, k) / comb(n, k)


def pass_hat_k(n: int, solved: int, k: int) -> float:
    """The chance that all of k attempts solve: ``C(c, k) / C(n, k)`` (pass^k, unbiased; Yao et al.
    2024, arXiv:2406.12045)."""
    _check(n, solved, k)
    return comb(solved, k) / comb(n, k)


def _check(n: int, solved: int, k: int) -> None:
    if not 0 <= solved <= n or not 1 <= k <= n:
        raise ValueError(f"{solved} of {n} attempts solved gives no pass@{k}")
