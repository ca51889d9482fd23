"""The same tasks in both arms, side by side."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from harness_adapters.evaluation.arms import Arm, Observation, TaskResult


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """One task that has a counted attempt in both arms."""

    base: TaskResult
    run: TaskResult

    @property
    def task_id(self) -> str:
        return self.base.task_id

    @property
    def cluster(self) -> str:
        return self.base.cluster

    @property
    def difference(self) -> float:
        """Of the pass rates, run minus base."""
        return self.run.pass_rate - self.base.pass_rate


def pair(base: Arm, run: Arm) -> list[Pair]:
    """Tasks with at least one counted attempt in both arms, by task id."""
    return [
        Pair(base=base.results[task_id], run=run.results[task_id])
        for task_id in sorted(base.results.keys() & run.results.keys())
    ]


def clusters(pairs: Sequence[Pair]) -> list[str]:
    return [one.cluster for one in pairs]


@dataclass(frozen=True, slots=True, kw_only=True)
class Solves:
    """Which arm solved which tasks at least once.

    :param gained: ids of tasks that only the run solved; ``lost``: that only the base solved.
    :param better: number of tasks with a higher pass rate in the run; ``worse``: a lower one.
    """

    both: int
    neither: int
    gained: tuple[str, ...]
    lost: tuple[str, ...]
    better: int
    worse: int


def solves(pairs: Sequence[Pair]) -> Solves:
    return Solves(
        both=sum(bool(one.base.solved and one.run.solved) for one in pairs),
        neither=sum(not one.base.solved and not one.run.solved for one in pairs),
        gained=tuple(one.task_id for one in pairs if one.run.solved and not one.base.solved),
        lost=tuple(one.task_id for one in pairs if one.base.solved and not one.run.solved),
        better=sum(one.difference > 0 for one in pairs),
        worse=sum(one.difference < 0 for one in pairs),
    )


def mean_of(
    attempts: Sequence[Observation], value: Callable[[Observation], float], *, only_solved: bool
) -> float:
    """The mean of ``value`` over the attempts, or over the solved ones; there must be one."""
    chosen = [value(one) for one in attempts if one.solved or not only_solved]
    return sum(chosen) / len(chosen)
