"""What the guard cost and caught in one arm: verifier's result against blocked or not."""

from __future__ import annotations

from collections import Counter
from typing import Any

from harness_adapters.evaluation.arms import Arm, Observation
from harness_adapters.evaluation.clustered import mean
from harness_adapters.evaluation.pairs import mean_of
from harness_adapters.evaluation.proportions import clopper_pearson


def blocking(arm: Arm) -> dict[str, Any]:
    """The 2x2 table of finished attempts, pass@1 both ways, and block rates.

    ``passed_blocked`` holds the attempts that a block turned from a solve into a 0: right where
    they cheated, false blocks where they did not; only reading them tells. ``pass1`` counts blocked
    attempts as unsolved, ``pass1_by_verifier`` by what the verifier said. Rates are shares of
    finished attempts with Clopper-Pearson intervals, which take attempts as independent.
    """
    results = list(arm.results.values())
    names = [one.cluster for one in results]
    by_verifier = [
        mean_of(one.attempts, lambda a: float(bool(a.passed)), only_solved=False) for one in results
    ]
    observations = arm.observations()
    cells = Counter(_cell(one) for one in observations)
    rules = Counter(rule for one in observations for rule in one.rules)
    n = len(observations)
    return {
        "passed_allowed": cells["passed", False],
        "passed_blocked": cells["passed", True],
        "failed_allowed": cells["failed", False],
        "failed_blocked": cells["failed", True],
        "unverified_blocked": cells["unverified", True],
        "pass1": mean([one.pass_rate for one in results], names).bounded_interval(0, 1).to_json(),
        "pass1_by_verifier": mean(by_verifier, names).bounded_interval(0, 1).to_json(),
        "block_rate": _rate(sum(one.blocked for one in observations), n),
        "by_rule": {rule: _rate(count, n) for rule, count in sorted(rules.items())},
    }


def _cell(one: Observation) -> tuple[str, bool]:
    if one.passed is None:
        return "unverified", one.blocked
    return "passed" if one.passed else "failed", one.blocked


def _rate(count: int, n: int) -> dict[str, float | int | None]:
    lo, hi = clopper_pearson(count, n)
    return {"count": count, "of": n, "est": count / n if n else None, "lo": lo, "hi": hi}
