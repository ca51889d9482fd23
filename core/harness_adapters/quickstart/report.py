"""The report of a quick start: what came of it, and how the training went."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import mean

from harness_adapters.evaluation.report.comparison import comparison_sections
from harness_adapters.evaluation.report.document import Cell, Curve, Document, Section, Table
from harness_adapters.evaluation.report.html import to_html
from harness_adapters.quickstart.learning import Learned
from harness_adapters.record.folder import write_whole
from harness_adapters.train.folder import read_steps

_SHOWN = {
    "reward": "sessions/reward",
    "solve rate": "sessions/solved",
    "calls": "sessions/calls",
    "blocked": "sessions/blocked",
    "staleness, versions": "staleness/trained",
    "efficiency share of the advantage": "advantage/efficiency_share",
}
_DRAWN = ("reward", "solve rate", "calls")

Steps = Mapping[int, Mapping[str, float]]


def write_report(learned: Sequence[Learned], file: Path) -> Path:
    """Write it as one HTML file that needs nothing else, and return its path."""
    write_whole(file, to_html([_document(one) for one in learned]).encode())
    return file


def _document(one: Learned) -> Document:
    comparison = one.comparison
    labels = {
        str(comparison.base.path): one.policy,
        str(comparison.runs[0].arm.path): f"with its adapter for {one.harness}",
    }
    steps = {step: record["metrics"] for step, record in read_steps(one.training).items()}
    return Document(
        title=f"Quick start in {one.harness}",
        subtitle=f"{one.steps} steps; the adapter is {one.adapter}",
        sections=(
            *comparison_sections(comparison, labels),
            training_section(steps),
            Section(
                title="Differences from the published recipe",
                paragraphs=one.deviations or ("None.",),
            ),
        ),
    )


def training_section(steps: Steps) -> Section:
    """How a training went, step by step.

    :param steps: step -> its metrics.
    """
    shown = {
        name: key
        for name, key in _SHOWN.items()
        if any(key in metrics for metrics in steps.values())
    }
    table = Table(
        title="Steps",
        columns=("step", *shown),
        rows=tuple(
            (Cell(str(step), step), *(_number(metrics.get(key)) for key in shown.values()))
            for step, metrics in steps.items()
        ),
        note="Over the sessions of each step: of the training tasks, which are sampled, not fixed.",
    )
    curves = [
        Curve(
            title=name.capitalize(),
            axis="step",
            points=tuple(
                (float(step), metrics[shown[name]])
                for step, metrics in steps.items()
                if shown[name] in metrics
            ),
        )
        for name in _DRAWN
        if name in shown
    ]
    return Section(title="Training", paragraphs=_rewarded(steps), blocks=(*curves, table))


def _rewarded(steps: Steps) -> tuple[str, ...]:
    """Whether reward rose, over thirds of the training: single steps say little."""
    rewards = [
        metrics[_SHOWN["reward"]] for metrics in steps.values() if _SHOWN["reward"] in metrics
    ]
    if len(rewards) < 2:
        return ("Too few steps to say whether reward rose.",)
    third = max(1, len(rewards) // 3)
    first, last = mean(rewards[:third]), mean(rewards[-third:])
    rose = "Reward rose" if last > first else "Reward did not rise"
    many = f"{third} of {len(rewards)} steps"
    return (f"{rose}: {first:.3f} over the first {many}, {last:.3f} over the last {third}.",)


def _number(value: float | None) -> Cell:
    return Cell("-") if value is None else Cell(f"{value:.3f}", value)
