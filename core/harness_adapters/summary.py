"""The numbers that a run ends with, counted from its typed outcomes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TypedDict

from harness_adapters.outcomes import BLOCKED
from harness_adapters.types import Outcome, Rollout


class Summary(TypedDict):
    """``finished = solved + failed + blocked``; the means are over finished rollouts, ``None``
    where there is none. ``mean_calls`` leaves out blocked and auxiliary calls."""

    planned: int
    finished: int
    solved: int
    failed: int
    blocked: int
    infra: int
    broken: int
    mean_reward: float | None
    mean_calls: float | None
    by_outcome: dict[str, int]


def solved(rollout: Rollout) -> bool:
    """Whether the work was graded as done; a harness that died after it counts as graded."""
    if rollout.outcome is Outcome.HARNESS_DIED:
        return rollout.verdict is not None and rollout.verdict.passed
    return rollout.outcome is Outcome.SOLVED


def summarise(rollouts: Iterable[Rollout], *, planned: int, broken: int) -> Summary:
    rollouts = list(rollouts)
    finished = [one for one in rollouts if one.outcome is not Outcome.INFRA]
    blocked = sum(one.outcome in BLOCKED for one in finished)
    done = sum(solved(one) for one in finished)
    return Summary(
        planned=planned,
        finished=len(finished),
        solved=done,
        failed=len(finished) - done - blocked,
        blocked=blocked,
        infra=len(rollouts) - len(finished),
        broken=broken,
        mean_reward=_mean([one.reward for one in finished if one.reward is not None]),
        mean_calls=_mean([one.calls for one in finished]),
        by_outcome=dict(sorted(Counter(one.outcome.value for one in rollouts).items())),
    )


def _mean(values: list[float] | list[int]) -> float | None:
    return sum(values) / len(values) if values else None
