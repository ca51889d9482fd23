"""Tool calls four ways, and what else a solve costs.

A mean over solved attempts alone is a selected sample: an adapter that solves only what is easy
looks cheap. So four views stand side by side: (1) the ratio on tasks that both arms solved (per
task the mean calls of its solved attempts, summed over tasks, the run's over the base's), (2) all
attempts with the cap in place of an unsolved one's calls, (3) how many tasks both, one or neither
arm solved (in ``pairs``), (4) calls per solve. Tokens, seconds and turns per solve stand beside
them, since ``a && b`` in one call games calls. Blocked and auxiliary calls are in none of these and
are listed apart.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from harness_adapters.evaluation.arms import Arm, Observation, TaskResult
from harness_adapters.evaluation.clustered import Clustered, ratio_of_ratios, ratio_of_sums
from harness_adapters.evaluation.estimate import Estimate, nothing
from harness_adapters.evaluation.pairs import Pair, clusters, mean_of
from harness_adapters.evaluation.sign_flip import sign_flip
from harness_adapters.record.manifest import Manifest

COSTS: Mapping[str, Callable[[Observation], float | None]] = {
    "calls": lambda one: one.calls,
    "tokens": lambda one: one.tokens,
    "seconds": lambda one: one.seconds,
    "turns": lambda one: one.turns,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmsAndRatio:
    """A number of each arm and their ratio, run over base."""

    base: Estimate
    run: Estimate
    ratio: Estimate

    def to_json(self) -> dict[str, Any]:
        return {
            "base": self.base.to_json(),
            "run": self.run.to_json(),
            "ratio": self.ratio.to_json(),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Efficiency:
    """:param solved_by_both: the spread behind ``calls_ratio``, for its power.
    :param calls_p: of the cluster sign-flip test on the difference of calls on these tasks."""

    calls_ratio: Estimate
    solved_by_both: Clustered
    calls_p: float | None
    all_runs_capped: ArmsAndRatio
    per_solve: Mapping[str, ArmsAndRatio]

    def to_json(self) -> dict[str, Any]:
        return {
            "all_runs_capped": self.all_runs_capped.to_json(),
            "per_solve": {name: cost.to_json() for name, cost in self.per_solve.items()},
        }


def efficiency(pairs: Sequence[Pair], base: Arm, *, seed: int = 0) -> Efficiency:
    """:param base: for the caps, which are the same in both arms.
    :param seed: for the permutation test."""
    both = [one for one in pairs if one.base.solved and one.run.solved]
    run_calls = [solved_calls(one.run) for one in both]
    base_calls = [solved_calls(one.base) for one in both]
    by_both = ratio_of_sums(run_calls, base_calls, clusters(both))
    saved = [r - b for r, b in zip(run_calls, base_calls, strict=True)]
    return Efficiency(
        calls_ratio=by_both.log_interval(),
        solved_by_both=by_both,
        calls_p=sign_flip(saved, clusters(both), seed=seed),
        all_runs_capped=_all_runs_capped(pairs, base.manifest),
        per_solve={name: _per_solve(pairs, cost) for name, cost in COSTS.items()},
    )


def solved_calls(result: TaskResult) -> float:
    """The mean calls of a task's solved attempts, of which there is at least one."""
    return mean_of(result.attempts, lambda one: one.calls, only_solved=True)


def _all_runs_capped(pairs: Sequence[Pair], manifest: Manifest) -> ArmsAndRatio:
    """The cap is the session's ``max_requests``, or an unsolved attempt's own calls when they were
    more (one request may carry several)."""
    caps = [manifest.limits_of(one.task_id).get("max_requests") for one in pairs]
    if None in caps:
        none = nothing("the manifest states no max_requests", n_tasks=len(pairs))
        return ArmsAndRatio(base=none, run=none, ratio=none)

    def capped(result: TaskResult, cap: float) -> float:
        return mean_of(
            result.attempts,
            lambda one: one.calls if one.solved else max(cap, one.calls),
            only_solved=False,
        )

    known = [cap for cap in caps if cap is not None]
    base = [capped(one.base, cap) for one, cap in zip(pairs, known, strict=True)]
    run = [capped(one.run, cap) for one, cap in zip(pairs, known, strict=True)]
    names, ones = clusters(pairs), [1.0] * len(pairs)
    return ArmsAndRatio(
        base=ratio_of_sums(base, ones, names).log_interval(),
        run=ratio_of_sums(run, ones, names).log_interval(),
        ratio=ratio_of_sums(run, base, names).log_interval(),
    )


def _per_solve(pairs: Sequence[Pair], cost: Callable[[Observation], float | None]) -> ArmsAndRatio:
    """Per arm, the cost of all its attempts, the unsolved ones too, over its number of solves. Each
    task weighs the same, however many of its attempts were counted."""
    if any(cost(one) is None for p in pairs for one in (*p.base.attempts, *p.run.attempts)):
        none = nothing("not recorded for every attempt", n_tasks=len(pairs))
        return ArmsAndRatio(base=none, run=none, ratio=none)

    def spent(result: TaskResult) -> float:
        return mean_of(result.attempts, lambda one: cost(one) or 0.0, only_solved=False)

    names = clusters(pairs)
    base = [spent(one.base) for one in pairs], [one.base.pass_rate for one in pairs]
    run = [spent(one.run) for one in pairs], [one.run.pass_rate for one in pairs]
    return ArmsAndRatio(
        base=ratio_of_sums(*base, names).log_interval(),
        run=ratio_of_sums(*run, names).log_interval(),
        ratio=ratio_of_ratios(run, base, names),
    )


def not_counted(arm: Arm) -> dict[str, int]:
    """Calls of an arm that are in no figure above."""
    observations = arm.observations()
    return {
        "blocked_calls": sum(one.blocked_calls for one in observations),
        "auxiliary_calls": sum(one.auxiliary_calls for one in observations),
    }
