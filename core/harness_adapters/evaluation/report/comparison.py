"""A comparison as sections of a report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from harness_adapters.evaluation.arms import TaskResult
from harness_adapters.evaluation.compare import Comparison, RunComparison
from harness_adapters.evaluation.pairs import Pair, mean_of
from harness_adapters.evaluation.report.arms import (
    ArmJson,
    arms_section,
    blocks_table,
    rules_table,
)
from harness_adapters.evaluation.report.document import Cell, Document, Forest, Section, Table
from harness_adapters.evaluation.report.numbers import (
    INTERVAL,
    amount,
    count,
    percent,
    points_mark,
    ratio,
    ratio_mark,
    text,
)

Labels = Mapping[str, str]
"""Folder of an arm -> what a report calls it."""


def of_comparison(comparison: Comparison) -> Document:
    arms = [comparison.base, *(run.arm for run in comparison.runs)]
    labels = {str(arm.path): str(arm.path) for arm in arms}
    return Document(
        title="Comparison",
        subtitle=f"against {comparison.base.path}",
        sections=(
            *comparison_sections(comparison, labels),
            arms_section(arms_json([comparison], labels)),
        ),
    )


def arms_json(comparisons: Sequence[Comparison], labels: Labels) -> list[ArmJson]:
    """Every arm once."""
    arms: dict[str, ArmJson] = {}
    for comparison in comparisons:
        content = comparison.to_json()
        for arm in (content["base"], *content["runs"]):
            arms.setdefault(arm["path"], {**arm, "label": labels[arm["path"]]})
    return list(arms.values())


def comparison_sections(comparison: Comparison, labels: Labels) -> list[Section]:
    """An overview where there are several runs, then each run against the base."""
    base = labels[str(comparison.base.path)]
    runs = [(labels[str(run.arm.path)], run, run.to_json()) for run in comparison.runs]
    sections = [_run_section(label, base, run, content) for label, run, content in runs]
    if len(runs) > 1:
        contents = [(label, content) for label, _, content in runs]
        sections.insert(0, _overview(base, contents, comparison.margin))
    return sections


def _overview(base: str, runs: Sequence[tuple[str, dict[str, Any]]], margin: float) -> Section:
    table = Table(
        title="All runs",
        columns=(
            "run",
            "pass@1, points",
            "p",
            "detectable",
            f"within {100 * margin:g} points?",
            "calls, ratio",
            "p",
        ),
        rows=tuple(
            (
                text(label),
                percent(run["diff_pass1"], signed=True),
                p_value(run["p_holm"]["diff_pass1"]),
                _detectable(run["diff_pass1"]["mde"]),
                text("yes" if run["equivalence"]["shown"] else "not shown"),
                ratio(run["calls_ratio"]),
                p_value(run["p_holm"]["calls_ratio"]),
            )
            for label, run in runs
        ),
        note=f"{INTERVAL}; p-values of permutation tests, adjusted for all comparisons (Holm). "
        "A change of the detectable size would be found 4 times in 5.",
    )
    return Section(title=f"Against {base}", blocks=(*forests(runs), table))


def forests(runs: Sequence[tuple[str, Mapping[str, Any]]]) -> tuple[Forest, Forest]:
    """Both headline numbers of each run as charts."""
    return (
        Forest(
            title="Change of pass@1",
            axis="points, run minus base",
            marks=tuple(points_mark(label, run["diff_pass1"]) for label, run in runs),
            null=0.0,
            limits=(-5.0, 5.0),
        ),
        Forest(
            title="Tool calls, on tasks that both solved",
            axis="ratio, run over base",
            marks=tuple(ratio_mark(label, run["calls_ratio"]) for label, run in runs),
            null=1.0,
            log=True,
            limits=(0.8, 1.25),
        ),
    )


def _run_section(label: str, base: str, run: RunComparison, content: dict[str, Any]) -> Section:
    arms = [{**content, "label": label}]
    rules = rules_table(arms)
    return Section(
        title=f"{label} against {base}",
        paragraphs=(*content["verdict"]["sentences"], *content["notes"], _solved(content)),
        blocks=(
            *forests([(label, content)]),
            _accuracy(content),
            _costs(content),
            *([blocks_table(arms), rules] if rules else []),
            _tasks(run.pairs),
        ),
    )


def _solved(content: Mapping[str, Any]) -> str:
    solved = content["solved"]
    return (
        f"Solved by both {solved['both']}, only by the base {solved['only_base']}, only by the run "
        f"{solved['only_run']}, by neither {solved['neither']}; pass rate higher on "
        f"{solved['better']} tasks, lower on {solved['worse']}."
    )


def _accuracy(run: Mapping[str, Any]) -> Table:
    named = [
        *((f"pass@{row['k']}", row) for row in run["pass_at_k"]),
        *((f"pass^{row['k']}", row) for row in run["pass_hat_k"] if row["k"] > 1),
        *((f"kind: {name}", row) for name, row in run["by_kind"].items()),
        *((f"difficulty: {name}", row) for name, row in run["by_difficulty"].items()),
    ]
    return Table(
        title="Accuracy, in %",
        columns=("", "tasks", "clusters", "base", "run", "difference"),
        rows=tuple(
            (
                text(name),
                count(row["n_tasks"]),
                count(row["n_clusters"]),
                percent(row["base"]),
                percent(row["run"]),
                percent(row["diff"], signed=True),
            )
            for name, row in named
        ),
        note=f"{INTERVAL}, clustered. pass@1 by kind or difficulty describes; it is no test.",
    )


def _costs(run: Mapping[str, Any]) -> Table:
    efficiency = run["efficiency"]
    named = [
        ("calls, unsolved at the cap", efficiency["all_runs_capped"]),
        *((f"{name} per solve", cost) for name, cost in efficiency["per_solve"].items()),
    ]
    both = (text("calls, both solved"), Cell(""), Cell(""), ratio(run["calls_ratio"]))
    rows = [
        (text(name), amount(cost["base"]), amount(cost["run"]), ratio(cost["ratio"]))
        for name, cost in named
    ]
    return Table(
        title="Costs",
        columns=("", "base", "run", "ratio"),
        rows=(both, *rows),
        note=f"{INTERVAL}, clustered. Blocked and auxiliary calls are in none of these.",
    )


def _tasks(pairs: Sequence[Pair]) -> Table:
    """In order of what changed most, losses first."""
    return Table(
        title="Tasks",
        columns=("task", "cluster", "base, %", "run, %", "change", "base, calls", "run, calls"),
        rows=tuple(
            (
                text(one.task_id),
                text(one.cluster),
                _share(one.base.pass_rate),
                _share(one.run.pass_rate),
                _share(one.difference, "+"),
                _calls(one.base),
                _calls(one.run),
            )
            for one in sorted(pairs, key=lambda one: one.difference)
        ),
        note="pass@1 of each task's own attempts, and mean calls of all of them; single tasks "
        "carry no interval.",
    )


def p_value(p: float | None) -> Cell:
    if p is None:
        return Cell("-")
    return Cell("< 0.001" if p < 0.001 else f"{p:.3f}", p)


def _detectable(mde: float | None) -> Cell:
    return Cell("-" if mde is None else f"{100 * mde:.1f}", mde)


def _share(value: float, sign: str = "") -> Cell:
    return Cell(f"{100 * value:{sign}.0f}", value)


def _calls(result: TaskResult) -> Cell:
    calls = mean_of(result.attempts, lambda one: one.calls, only_solved=False)
    return Cell(f"{calls:.1f}", calls)
