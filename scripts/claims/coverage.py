"""The 95% intervals of ``diff_pass1`` and ``calls_ratio`` hold the truth 93 to 97% of the time.

Simulated runs with known truth, at 20, 40 and 150 clusters: clusters of 1 to 20 tasks, log-normal
in size; effects of cluster and of task on the chance to solve, on what the adapter changes, and on
the number of calls; hard tasks need more calls; over-dispersed counts; 3% of the attempts missing.
The intervals are made by the very functions that ``ha compare`` uses.

Usage: scripts/claims/coverage.py OUT.json
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from evidence import write_evidence
from numpy.typing import NDArray

from harness_adapters.evaluation.clustered import Clustered, ratio_of_ratios, ratio_of_sums
from harness_adapters.evaluation.difference import Difference, paired_difference
from harness_adapters.evaluation.estimate import Estimate

SIMULATIONS = 2000
CLUSTERS = (20, 40, 150)
BAND = (0.93, 0.97)
TRUTH_TASKS = 2_000_000
MISSING = 0.03
Array = NDArray[np.float64]
Interval = tuple[float | None, float | None, float | None]


@dataclass(frozen=True)
class Scenario:
    """:param effect: on the log odds of solving; :param calls: the adapter's share of the calls."""

    name: str
    attempts: int
    effect: float
    calls: float


SCENARIOS = (
    Scenario("no effect, one attempt", attempts=1, effect=0.0, calls=1.0),
    Scenario("more solves and 30% fewer calls, four attempts", attempts=4, effect=0.5, calls=0.7),
)


@dataclass(frozen=True)
class Arms:
    """Per task with counted attempts in both arms: ``[0]`` base, ``[1]`` adapter."""

    cluster: NDArray[np.int64]
    pass_rate: Array
    solved_calls: Array  # mean over solved attempts, nan where there is none
    all_calls: Array  # mean over counted attempts


def main(out: Path) -> int:
    started = time.monotonic()
    figures = [measure(scenario, clusters) for scenario in SCENARIOS for clusters in CLUSTERS]
    covered = [f[name]["coverage"] for f in figures for name in ("diff_pass1", "calls_ratio")]
    return write_evidence(
        out,
        __file__,
        __doc__,
        holds=all(BAND[0] <= share <= BAND[1] for share in covered),
        versions=("numpy", "scipy"),
        tell={"least": min(covered), "most": max(covered)},
        seconds=round(time.monotonic() - started, 1),
        simulations=SIMULATIONS,
        monte_carlo_se_of_coverage=round(float(np.sqrt(0.95 * 0.05 / SIMULATIONS)), 4),
        figures=figures,
    )


def measure(scenario: Scenario, n_clusters: int) -> dict[str, Any]:
    truths = truth(scenario)
    intervals: dict[str, list[Interval]] = {name: [] for name in truths}
    by_g: dict[str, list[Interval]] = {"diff_pass1": [], "calls_ratio": []}
    rejected = 0
    for number in range(SIMULATIONS):
        random = np.random.default_rng([number, n_clusters, scenario.attempts])
        arms = simulate(random, scenario, cluster_sizes(random, n_clusters))
        names = [str(code) for code in arms.cluster]
        difference = paired_difference(arms.pass_rate[1], arms.pass_rate[0], names, seed=number)
        rejected += difference.p is not None and difference.p < 0.05
        both = np.flatnonzero(~np.isnan(arms.solved_calls).any(axis=0))
        base, run = arms.solved_calls[:, both]
        ratio = ratio_of_sums(run, base, [names[task] for task in both])
        per_solve = ratio_of_ratios(
            (arms.all_calls[1], arms.pass_rate[1]), (arms.all_calls[0], arms.pass_rate[0]), names
        )
        found: dict[str, tuple[Clustered | None, Difference | Estimate]] = {
            "diff_pass1": (difference.spread, difference),
            "calls_ratio": (ratio, ratio.log_interval()),
            "calls_per_solve_ratio": (None, per_solve),
        }
        for name, (spread, one) in found.items():
            intervals[name].append((one.est, one.lo, one.hi))
            if spread is not None:
                by_g[name].append(with_g_degrees(spread, name))
    figure: dict[str, Any] = {
        "scenario": scenario.name, "clusters": n_clusters, "attempts": scenario.attempts
    }  # fmt: skip
    for name, value in truths.items():
        figure[name] = summary(intervals[name], value)
    for name, others in by_g.items():
        figure[name]["coverage_with_t_of_G_minus_1"] = summary(others, truths[name])["coverage"]
    figure["diff_pass1"]["p_below_0.05"] = rejected / SIMULATIONS
    return figure


def with_g_degrees(spread: Clustered, name: str) -> Interval:
    """The same standard error with G - 1 degrees of freedom, which is not what we use."""
    other = replace(spread, df=float(spread.n_clusters - 1))
    one = other.bounded_interval(-1, 1) if name == "diff_pass1" else other.log_interval()
    return one.est, one.lo, one.hi


def summary(intervals: list[Interval], true: float) -> dict[str, float]:
    """An interval that could not be made counts as one that misses."""
    made = np.array([one for one in intervals if None not in one], dtype=float)
    est, lo, hi = made.T
    return {
        "truth": round(true, 5),
        "coverage": int(np.count_nonzero((lo <= true) & (true <= hi))) / len(intervals),
        "mean_estimate": round(float(est.mean()), 5),
        "mean_width": round(float((hi - lo).mean()), 5),
        "without_interval": len(intervals) - len(made),
    }


def cluster_sizes(random: np.random.Generator, n_clusters: int) -> NDArray[np.int64]:
    sizes = np.round(np.exp(random.normal(1.2, 0.8, n_clusters)))
    return np.clip(sizes, 1, 20).astype(np.int64)


def truth(scenario: Scenario) -> dict[str, float]:
    """The population's values, from two million tasks of as many clusters."""
    random = np.random.default_rng(20_240_101)
    arms = simulate(random, scenario, np.ones(TRUTH_TASKS, dtype=np.int64))
    both = ~np.isnan(arms.solved_calls).any(axis=0)
    base, run = arms.solved_calls[:, both].sum(axis=1)
    per_solve = arms.all_calls.sum(axis=1) / arms.pass_rate.sum(axis=1)
    return {
        "diff_pass1": float((arms.pass_rate[1] - arms.pass_rate[0]).mean()),
        "calls_ratio": float(run / base),
        "calls_per_solve_ratio": float(per_solve[1] / per_solve[0]),
    }


def simulate(random: np.random.Generator, scenario: Scenario, sizes: NDArray[np.int64]) -> Arms:
    cluster = np.repeat(np.arange(len(sizes)), sizes)

    def effects(of_cluster: float, of_task: float) -> Array:
        shared = random.normal(0, of_cluster, len(sizes))[cluster]
        return np.asarray(shared + random.normal(0, of_task, len(cluster)), dtype=float)

    ease = 0.3 + effects(1.0, 1.2)
    gain = scenario.effect + effects(0.4, 0.5)
    length = np.maximum(9 * np.exp(effects(0.3, 0.35) - 0.15 * ease), 3.0)
    change = scenario.calls * np.exp(effects(0.15, 0.2) - (0.15**2 + 0.2**2) / 2)
    chance = 1 / (1 + np.exp(-np.stack([ease, ease + gain])))
    expected = np.stack([length, length * change])

    counted = random.binomial(scenario.attempts, 1 - MISSING, chance.shape)
    solved = random.binomial(counted, chance)
    solved_sum = _calls(random, expected, solved)
    failed_sum = _calls(random, 1.5 * expected, counted - solved)  # who fails tries longer
    keep = counted.min(axis=0) > 0
    counted, solved = counted[:, keep], solved[:, keep]
    solved_sum, failed_sum = solved_sum[:, keep], failed_sum[:, keep]
    return Arms(
        cluster=cluster[keep],
        pass_rate=solved / counted,
        solved_calls=np.where(solved > 0, solved_sum / np.maximum(solved, 1), np.nan),
        all_calls=(solved_sum + failed_sum) / counted,
    )


def _calls(random: np.random.Generator, expected: Array, attempts: NDArray[np.int64]) -> Array:
    """The sum over attempts of one call and a negative binomial count (4 degrees of dispersion)."""
    more = np.maximum(expected - 1, 0.01)
    drawn = random.negative_binomial(4 * np.maximum(attempts, 1), 4 / (4 + more))
    return np.where(attempts > 0, attempts + drawn, 0).astype(float)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: scripts/claims/coverage.py OUT.json")
    sys.exit(main(Path(sys.argv[1])))
