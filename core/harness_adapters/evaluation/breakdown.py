"""pass@1 by kind and difficulty, pass@k and pass^k by k: each with clustered intervals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from harness_adapters.evaluation.clustered import mean
from harness_adapters.evaluation.pairs import Pair, clusters


def by_group(pairs: Sequence[Pair], name: Callable[[Pair], str]) -> dict[str, dict[str, Any]]:
    """Both arms and their difference in each group. These are descriptions: with many groups, some
    interval excludes 0 by chance."""
    groups: dict[str, list[Pair]] = {}
    for one in pairs:
        groups.setdefault(name(one), []).append(one)
    return {group: _arms(groups[group]) for group in sorted(groups)}


def by_k(
    pairs: Sequence[Pair], estimator: Callable[[int, int, int], float]
) -> list[dict[str, Any]]:
    """For k = 1, 2, 4, ... as far as attempts were counted: both arms and their difference, over
    the tasks that have at least k counted attempts in both.

    :param estimator: ``pass_at_k`` or ``pass_hat_k``.
    """
    rows = []
    k = 1
    while enough := [p for p in pairs if min(len(p.base.attempts), len(p.run.attempts)) >= k]:
        base = [estimator(len(p.base.attempts), p.base.solved, k) for p in enough]
        run = [estimator(len(p.run.attempts), p.run.solved, k) for p in enough]
        rows.append({"k": k, **_estimates(enough, base, run)})
        k *= 2
    return rows


def _arms(pairs: Sequence[Pair]) -> dict[str, Any]:
    return _estimates(
        pairs, [one.base.pass_rate for one in pairs], [one.run.pass_rate for one in pairs]
    )


def _estimates(
    pairs: Sequence[Pair], base: Sequence[float], run: Sequence[float]
) -> dict[str, Any]:
    names = clusters(pairs)
    differences = [r - b for r, b in zip(run, base, strict=True)]
    return {
        "n_tasks": len(pairs),
        "n_clusters": len(set(names)),
        "base": mean(base, names).bounded_interval(0, 1).to_json(),
        "run": mean(run, names).bounded_interval(0, 1).to_json(),
        "diff": mean(differences, names).bounded_interval(-1, 1).to_json(),
    }
