"""An evaluation as a report: its comparisons, a transfer matrix, a guard ablation."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

from harness_adapters.evaluation.compare import RunComparison, about
from harness_adapters.evaluation.matrix import Matrix
from harness_adapters.evaluation.plan import ArmName, Design
from harness_adapters.evaluation.report.arms import arms_section, blocks_table, rules_table
from harness_adapters.evaluation.report.comparison import (
    arms_json,
    comparison_sections,
    forests,
    p_value,
)
from harness_adapters.evaluation.report.document import (
    Block,
    Document,
    HeatMap,
    Mark,
    Section,
    Table,
)
from harness_adapters.evaluation.report.numbers import (
    INTERVAL,
    percent,
    points_mark,
    ratio,
    ratio_mark,
    text,
)
from harness_adapters.evaluation.report.run import single_sections
from harness_adapters.evaluation.results import Findings

# From this change on, a cell has the full colour.
_FULL_POINTS = 20.0
_FULL_LOG_RATIO = math.log(2.0)


def of_evaluation(path: Path, findings: Findings) -> Document:
    plan = findings.plan
    labels = {str(arm.path): _label(name, findings) for name, arm in findings.arms}
    sections: list[Section] = []
    if findings.matrix:
        sections.append(_matrix_section(findings.matrix, base=plan.models[0]))
    if plan.design is Design.GUARDS and findings.comparisons:
        sections.append(_guards_section(findings, labels))
    for comparison in findings.comparisons:
        sections += comparison_sections(comparison, labels)
    if findings.comparisons:
        arms = [{**about(arm), "label": labels[str(arm.path)]} for _, arm in findings.arms]
        sections.append(arms_section(arms))
    else:
        sections += single_sections([(labels[str(arm.path)], arm) for _, arm in findings.arms])
    return Document(
        title="Evaluation of " + ", ".join(plan.models),
        subtitle=f"in {', '.join(plan.harnesses)} · {path}",
        sections=tuple(sections),
    )


def _label(name: ArmName, findings: Findings) -> str:
    """No more of an arm's name than tells it from the others."""
    plan = findings.plan
    parts = [
        name.model if len(plan.models) > 1 or not name.guards else "",
        f"in {name.harness}" if len(plan.harnesses) > 1 else "",
        f"guards {name.guards}" if name.guards else "",
    ]
    return " ".join(filter(None, parts))


def _matrix_section(matrix: Matrix, *, base: str) -> Section:
    blocks: list[Block] = [
        _heat_map(
            matrix,
            "Change of pass@1, in points",
            lambda label, cell: points_mark(label, cell.difference.to_json()),
            lambda points: points / _FULL_POINTS,
        ),
        _heat_map(
            matrix,
            "Tool calls on tasks that both solved, ratio",
            lambda label, cell: ratio_mark(label, cell.efficiency.calls_ratio.to_json()),
            lambda ratio: -math.log(ratio) / _FULL_LOG_RATIO if ratio > 0 else 1.0,
        ),
        Table(
            title="Adapters by harnesses",
            columns=("adapter", "harness", "home?", "pass@1, points", "p", "calls, ratio", "p"),
            rows=tuple(
                (
                    text(adapter),
                    text(harness),
                    text("unknown" if home is None else "home" if home == harness else "away"),
                    percent(cell.difference.to_json(), signed=True),
                    p_value(cell.p_holm),
                    ratio(cell.efficiency.calls_ratio.to_json()),
                    p_value(cell.calls_p_holm),
                )
                for adapter, home, row in zip(
                    matrix.adapters, matrix.homes, matrix.cells, strict=True
                )
                for harness, cell in zip(matrix.harnesses, row, strict=True)
            ),
            note=f"{INTERVAL}; p-values adjusted for all cells (Holm).",
        ),
    ]
    if matrix.transfers:
        blocks.append(
            Table(
                title="What the wrong harness costs",
                columns=("adapter", "home", "harness", "pass@1, points", "p", "calls, ratio"),
                rows=tuple(
                    (
                        text(one.model),
                        text(one.home),
                        text(one.harness),
                        percent(one.diff_pass1.to_json(), signed=True),
                        p_value(one.p),
                        ratio(one.calls_ratio.to_json()),
                    )
                    for one in matrix.transfers
                ),
                note="The adapter's gain over the base there, minus (for calls: over) its gain at "
                f"home, on the same tasks. {INTERVAL}.",
            )
        )
    return Section(title=f"Transfer, against {base}", blocks=tuple(blocks))


def _heat_map(
    matrix: Matrix,
    title: str,
    mark: Callable[[str, RunComparison], Mark],
    tone: Callable[[float], float],
) -> HeatMap:
    marks = tuple(
        tuple(
            mark(f"{adapter} in {harness}", cell)
            for harness, cell in zip(matrix.harnesses, row, strict=True)
        )
        for adapter, row in zip(matrix.adapters, matrix.cells, strict=True)
    )
    return HeatMap(
        title=title,
        rows=matrix.adapters,
        columns=matrix.harnesses,
        marks=marks,
        tones=tuple(
            tuple(None if one.est is None else max(-1.0, min(1.0, tone(one.est))) for one in row)
            for row in marks
        ),
    )


def _guards_section(findings: Findings, labels: dict[str, str]) -> Section:
    arms = arms_json(findings.comparisons, labels)
    runs = [
        (labels[str(run.arm.path)], run.to_json())
        for comparison in findings.comparisons
        for run in comparison.runs
    ]
    rules = rules_table(arms)
    return Section(
        title="What the guards cost and caught",
        paragraphs=(
            "The base of each comparison has no guard. A false block turns a solve into a 0, so "
            "pass@1 stands both ways: as scored, and by the verifier alone.",
        ),
        blocks=(
            *forests(runs),
            blocks_table(arms),
            *([rules] if rules else []),
        ),
    )
