"""Runs against their base: ``ha.compare(...)``, of which ``ha compare`` is a thin shell."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness_adapters.errors import BadInput
from harness_adapters.evaluation.arms import Arm, read_arm
from harness_adapters.evaluation.blocking import blocking
from harness_adapters.evaluation.breakdown import by_group, by_k
from harness_adapters.evaluation.difference import Difference, paired_difference
from harness_adapters.evaluation.efficiency import Efficiency, efficiency, not_counted
from harness_adapters.evaluation.equivalence import Equivalence, tost
from harness_adapters.evaluation.holm import holm
from harness_adapters.evaluation.likeness import notes, require_alike
from harness_adapters.evaluation.missing import HEAVY, account, bounds
from harness_adapters.evaluation.pairs import Pair, Solves, clusters, pair, solves
from harness_adapters.evaluation.pass_at_k import pass_at_k, pass_hat_k
from harness_adapters.evaluation.verdict import Verdict, decide

MARGIN = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class RunComparison:
    """One run against the base.

    :param p_holm: the difference's p-value, adjusted for all runs of the comparison.
    :param calls_p_holm: likewise for the calls on tasks that both solved.
    :param bounds: of the difference, over all that the missing attempts could have been.
    :param notes: allowed differences between the arms that a reader must know of.
    """

    arm: Arm
    pairs: tuple[Pair, ...]
    difference: Difference
    efficiency: Efficiency
    solves: Solves
    equivalence: Equivalence
    p_holm: float | None
    calls_p_holm: float | None
    bounds: tuple[float, float] | None
    notes: tuple[str, ...]
    verdict: Verdict

    def to_json(self) -> dict[str, Any]:
        unpaired = [t for t in self.arm.manifest.tasks if t not in {p.task_id for p in self.pairs}]
        return {
            **about(self.arm),
            "diff_pass1": self.difference.to_json(),
            "calls_ratio": _calls_ratio(self.efficiency),
            "verdict": self.verdict.to_json(),
            "p_holm": {"diff_pass1": self.p_holm, "calls_ratio": self.calls_p_holm},
            "equivalence": {
                "margin": self.equivalence.margin,
                "p": self.equivalence.p,
                "shown": self.equivalence.shown,
            },
            "spread": {
                "diff_pass1_se": self.difference.spread.se,
                "diff_pass1_df": self.difference.spread.df,
                "calls_ratio_p": self.efficiency.calls_p,
            },
            "reasons": {
                "diff_pass1": self.difference.reason,
                "calls_ratio": self.efficiency.calls_ratio.reason,
            },
            "notes": list(self.notes),
            "solved": {
                "both": self.solves.both,
                "only_base": len(self.solves.lost),
                "only_run": len(self.solves.gained),
                "neither": self.solves.neither,
                "better": self.solves.better,
                "worse": self.solves.worse,
                "gained": list(self.solves.gained),
                "lost": list(self.solves.lost),
            },
            "efficiency": self.efficiency.to_json(),
            "pass_at_k": by_k(self.pairs, pass_at_k),
            "pass_hat_k": by_k(self.pairs, pass_hat_k),
            "by_kind": by_group(self.pairs, lambda one: one.base.kind),
            "by_difficulty": by_group(self.pairs, lambda one: one.base.difficulty or "unstated"),
            "unpaired_tasks": unpaired,
            "diff_pass1_if_missing": list(self.bounds) if self.bounds else None,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Runs against their base, in the order given."""

    base: Arm
    runs: tuple[RunComparison, ...]
    margin: float
    seed: int

    @property
    def trouble(self) -> list[str]:
        """One line for each thing that keeps the comparison from being whole."""
        lines = [
            f"{arm.path}: {arm.planned - arm.finished} of {arm.planned} attempts are missing"
            for arm in (self.base, *(run.arm for run in self.runs))
            if arm.missing_share > HEAVY
        ]
        lines += [
            f"{run.arm.path}: no interval for pass@1: {run.difference.reason}"
            for run in self.runs
            if run.difference.lo is None
        ]
        return lines

    def to_json(self) -> dict[str, Any]:
        """Only JSON values, never ``NaN``. With one run, its two headline numbers stand at the top
        as well."""
        runs = [run.to_json() for run in self.runs]
        headline = ("diff_pass1", "calls_ratio")
        top = {name: runs[0][name] for name in headline} if len(runs) == 1 else {}
        return {
            **top,
            "margin": self.margin,
            "seed": self.seed,
            "base": about(self.base),
            "runs": runs,
            "trouble": self.trouble,
        }


def compare(
    base: Path | str,
    *runs: Path | str,
    margin: float = MARGIN,
    seed: int = 0,
    vary: Collection[str] = (),
) -> Comparison:
    """Compare run folders with a base run: same tasks, paired, clustered.

    :param margin: what counts as the same pass@1, in shares; for the equivalence test.
    :param seed: for permutation tests over more clusters than can be listed.
    :param vary: what is compared beside the model: ``harness``, ``guards``.
    :raises BadInput: a folder holds no readable run; a run's manifest differs from the base's in a
        field that must agree (the message names it); there is no run, or the margin is nonsense.
    """
    if not runs:
        raise BadInput("a comparison needs a base and at least one run")
    (comparison,) = compare_groups([(base, *runs)], margin=margin, seed=seed, vary=vary)
    return comparison


def compare_groups(
    groups: Sequence[Sequence[Path | str]],
    *,
    margin: float = MARGIN,
    seed: int = 0,
    vary: Collection[str] = (),
) -> list[Comparison]:
    """One comparison per group of run folders, each group's base first and each with a run at
    least. P-values are adjusted over all runs of all groups, as where each harness is a group.

    Arguments and errors are those of ``compare``.
    """
    arms = [[read_arm(Path(path)) for path in group] for group in groups]
    for base, *runs in arms:
        for run in runs:
            require_alike(base.manifest, run.manifest, run.path, vary=vary)
    compared = [(base, run, pair(base, run)) for base, *runs in arms for run in runs]
    differences = [_difference(pairs, seed) for _, _, pairs in compared]
    costs = [efficiency(pairs, base, seed=seed) for base, _, pairs in compared]
    p_holm = holm([one.p for one in differences])
    calls_p_holm = holm([one.calls_p for one in costs])
    judged = iter(
        [
            _judge(*parts, margin=margin, n_runs=len(compared))
            for parts in zip(compared, differences, costs, p_holm, calls_p_holm, strict=True)
        ]
    )
    return [
        Comparison(base=base, runs=tuple(next(judged) for _ in runs), margin=margin, seed=seed)
        for base, *runs in arms
    ]


def _difference(pairs: list[Pair], seed: int) -> Difference:
    return paired_difference(
        [one.run.pass_rate for one in pairs],
        [one.base.pass_rate for one in pairs],
        clusters(pairs),
        seed=seed,
    )


def _judge(
    compared: tuple[Arm, Arm, list[Pair]],
    difference: Difference,
    costs: Efficiency,
    p_holm: float | None,
    calls_p_holm: float | None,
    *,
    margin: float,
    n_runs: int,
) -> RunComparison:
    base, arm, pairs = compared
    equivalence = tost(difference.spread, margin)
    possible = bounds(base, arm)
    return RunComparison(
        arm=arm,
        pairs=tuple(pairs),
        difference=difference,
        efficiency=costs,
        solves=solves(pairs),
        equivalence=equivalence,
        p_holm=p_holm,
        calls_p_holm=calls_p_holm,
        bounds=possible,
        notes=tuple(notes(base.manifest, arm.manifest)),
        verdict=decide(
            difference,
            costs.calls_ratio,
            costs.solved_by_both,
            p=p_holm,
            calls_p=calls_p_holm,
            n_runs=n_runs,
            equivalence=equivalence,
            arms=(base, arm),
            bounds=possible,
        ),
    )


def _calls_ratio(costs: Efficiency) -> dict[str, Any]:
    ratio = costs.calls_ratio
    return {"est": ratio.est, "lo": ratio.lo, "hi": ratio.hi, "n_tasks": ratio.n_tasks}


def about(arm: Arm) -> dict[str, Any]:
    """What an arm was, what is missing of it, and what was blocked."""
    manifest = arm.manifest
    return {
        "path": str(arm.path),
        "model": manifest.model,
        "engine": manifest.engine.get("name"),
        "harness": manifest.harness,
        "harness_version": manifest.harness_version,
        **account(arm),
        "not_counted": not_counted(arm),
        "blocking": blocking(arm),
    }
