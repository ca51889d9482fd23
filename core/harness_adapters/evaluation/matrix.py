"""The transfer matrix: every adapter in every harness, each against the base in that harness.

An adapter is trained in one harness, its home, which its name says
(``<model-slug>.<harness>.<run-id>.v<N>``). What it loses elsewhere is a difference of differences:
per task, its gain over the base in the other harness minus its gain at home.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from harness_adapters.evaluation.clustered import mean, ratio_of_ratios
from harness_adapters.evaluation.compare import Comparison, RunComparison
from harness_adapters.evaluation.efficiency import solved_calls
from harness_adapters.evaluation.estimate import Estimate
from harness_adapters.evaluation.holm import holm
from harness_adapters.evaluation.plan import Plan
from harness_adapters.evaluation.sign_flip import sign_flip

_VERSION = re.compile(r"v\d+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Transfer:
    """An adapter's gain in another harness minus its gain at home, over the tasks that all four
    arms finished.

    :param diff_pass1: in shares; below 0 where the adapter is worth less there.
    :param calls_ratio: its ratio of calls there over its ratio at home, on tasks that all four
        arms solved; above 1 where it saves less there.
    :param p: of the cluster sign-flip test on ``diff_pass1``, adjusted over all transfers.
    """

    model: str
    home: str
    harness: str
    diff_pass1: Estimate
    calls_ratio: Estimate
    p: float | None

    def to_json(self) -> dict[str, Any]:
        return {
            "model": self.model,
            "home": self.home,
            "harness": self.harness,
            "diff_pass1": self.diff_pass1.to_json(),
            "calls_ratio": self.calls_ratio.to_json(),
            "p_holm": self.p,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Matrix:
    """:param cells: ``cells[i][j]`` is adapter i in harness j.
    :param homes: the home of each adapter, ``None`` where its name says none of these harnesses.
    """

    adapters: tuple[str, ...]
    harnesses: tuple[str, ...]
    cells: tuple[tuple[RunComparison, ...], ...]
    homes: tuple[str | None, ...]
    transfers: tuple[Transfer, ...]

    def to_json(self) -> dict[str, Any]:
        return {
            "adapters": list(self.adapters),
            "harnesses": list(self.harnesses),
            "homes": list(self.homes),
            "diff_pass1": [[cell.difference.to_json() for cell in row] for row in self.cells],
            "calls_ratio": [
                [cell.efficiency.calls_ratio.to_json() for cell in row] for row in self.cells
            ],
            "transfers": [one.to_json() for one in self.transfers],
        }


def transfer_matrix(plan: Plan, comparisons: Sequence[Comparison], *, seed: int = 0) -> Matrix:
    """:param comparisons: one per harness, in the plan's order, each of all models."""
    adapters, harnesses = plan.models[1:], plan.harnesses
    cells = tuple(tuple(one.runs[row] for one in comparisons) for row in range(len(adapters)))
    homes = tuple(home_of(model, harnesses) for model in adapters)
    moved = [
        (model, home, harness, row[harnesses.index(home)], row[harnesses.index(harness)])
        for model, home, row in zip(adapters, homes, cells, strict=True)
        if home
        for harness in harnesses
        if harness != home
    ]
    p_values = holm([_p(at_home, away, seed) for *_, at_home, away in moved])
    return Matrix(
        adapters=adapters,
        harnesses=harnesses,
        cells=cells,
        homes=homes,
        transfers=tuple(
            Transfer(
                model=model,
                home=home,
                harness=harness,
                diff_pass1=_diff_pass1(at_home, away),
                calls_ratio=_calls_ratio(at_home, away),
                p=p,
            )
            for (model, home, harness, at_home, away), p in zip(moved, p_values, strict=True)
        ),
    )


def home_of(model: str, harnesses: Collection[str]) -> str | None:
    """The harness that an adapter's name says, if it is one of these."""
    parts = model.split(".")
    if len(parts) >= 4 and _VERSION.fullmatch(parts[-1]) and parts[-3] in harnesses:
        return parts[-3]
    return None


def _gains(at_home: RunComparison, away: RunComparison) -> tuple[list[float], list[str]]:
    """Per task the gain away minus the gain at home, and the task's cluster."""
    gain_at_home = {one.task_id: one.difference for one in at_home.pairs}
    both = [one for one in away.pairs if one.task_id in gain_at_home]
    return (
        [one.difference - gain_at_home[one.task_id] for one in both],
        [one.cluster for one in both],
    )


def _diff_pass1(at_home: RunComparison, away: RunComparison) -> Estimate:
    values, clusters = _gains(at_home, away)
    return mean(values, clusters).bounded_interval(-2, 2)


def _p(at_home: RunComparison, away: RunComparison, seed: int) -> float | None:
    values, clusters = _gains(at_home, away)
    return sign_flip(values, clusters, seed=seed)


def _calls_ratio(at_home: RunComparison, away: RunComparison) -> Estimate:
    home_pairs = {one.task_id: one for one in at_home.pairs}
    both = [(home_pairs[one.task_id], one) for one in away.pairs if one.task_id in home_pairs]
    solved = [
        (home, other)
        for home, other in both
        if home.base.solved and home.run.solved and other.base.solved and other.run.solved
    ]
    return ratio_of_ratios(
        (
            [solved_calls(other.run) for _, other in solved],
            [solved_calls(other.base) for _, other in solved],
        ),
        (
            [solved_calls(home.run) for home, _ in solved],
            [solved_calls(home.base) for home, _ in solved],
        ),
        [other.cluster for _, other in solved],
    )
