"""What an evaluation says: every arm, and the comparisons that its design asks for."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness_adapters.evaluation.arms import Arm, read_arm
from harness_adapters.evaluation.compare import MARGIN, Comparison, compare_groups
from harness_adapters.evaluation.matrix import Matrix, transfer_matrix
from harness_adapters.evaluation.plan import ArmName, Design, Plan, read_plan


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """:param arms: those that were begun.
    :param comparisons: one per group of arms that was begun as a whole and has two at least.
    :param matrix: of a transfer matrix, once all of its groups were begun.
    """

    plan: Plan
    arms: tuple[tuple[ArmName, Arm], ...]
    comparisons: tuple[Comparison, ...]
    matrix: Matrix | None

    @property
    def trouble(self) -> list[str]:
        return [line for one in self.comparisons for line in one.trouble]

    def to_json(self) -> dict[str, Any]:
        content: dict[str, Any] = {
            "comparisons": [one.to_json() for one in self.comparisons],
            "trouble": self.trouble,
        }
        if self.matrix:
            content["matrix"] = self.matrix.to_json()
        return content


def find(path: Path, *, margin: float = MARGIN, seed: int = 0) -> Findings:
    """Read an evaluation's folder, finished or not, and compare.

    :raises BadInput: it is none, or a record of it is damaged.
    """
    plan = read_plan(path)
    begun = {arm.path for arm in plan.arms if (path / arm.path / "manifest.json").is_file()}
    groups = [group for group in plan.groups() if len(group) > 1]
    whole = [group for group in groups if all(arm.path in begun for arm in group)]
    comparisons = compare_groups(
        [[path / arm.path for arm in group] for group in whole],
        margin=margin,
        seed=seed,
        vary=("guards",) if plan.design is Design.GUARDS else (),
    )
    matrix = None
    if plan.design is Design.MATRIX and whole == groups:
        matrix = transfer_matrix(plan, comparisons, seed=seed)
    return Findings(
        plan=plan,
        arms=tuple((arm, read_arm(path / arm.path)) for arm in plan.arms if arm.path in begun),
        comparisons=tuple(comparisons),
        matrix=matrix,
    )
