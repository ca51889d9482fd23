"""The tables that stand in every report: what each arm was, what is missing, what it came to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from harness_adapters.evaluation.report.document import Cell, Section, Table
from harness_adapters.evaluation.report.numbers import INTERVAL, count, percent, text

ArmJson = Mapping[str, Any]
"""What ``Comparison.to_json`` says about an arm, with a ``label``."""


def arms_section(arms: Sequence[ArmJson]) -> Section:
    return Section(title="Arms", blocks=(_results(arms), _attempts(arms), _what_they_are(arms)))


def blocks_table(arms: Sequence[ArmJson]) -> Table:
    """Verifier's result against blocked, in attempts."""
    cells = (
        "passed_allowed",
        "passed_blocked",
        "failed_allowed",
        "failed_blocked",
        "unverified_blocked",
    )
    return Table(
        title="Verifier's result by blocked, in attempts",
        columns=("arm", *(name.replace("_", ", ") for name in cells)),
        rows=tuple(
            (text(arm["label"]), *(count(arm["blocking"][name]) for name in cells)) for arm in arms
        ),
        note="A blocked attempt that passed the verifier cheated, or the block was false: read it.",
    )


def rules_table(arms: Sequence[ArmJson]) -> Table | None:
    """How often each rule blocked; ``None`` where none did."""
    rows = tuple(
        (text(arm["label"]), text(rule), count(rate["count"]), count(rate["of"]), percent(rate))
        for arm in arms
        for rule, rate in arm["blocking"]["by_rule"].items()
    )
    if not rows:
        return None
    return Table(
        title="Blocks by rule",
        columns=("arm", "rule", "attempts", "of", "rate, %"),
        rows=rows,
        note=f"{INTERVAL} (Clopper-Pearson).",
    )


def _results(arms: Sequence[ArmJson]) -> Table:
    return Table(
        title="Results",
        columns=(
            "arm",
            "pass@1, %",
            "by the verifier alone, %",
            "attempts blocked, %",
            "calls blocked",
            "calls auxiliary",
        ),
        rows=tuple(
            (
                text(arm["label"]),
                percent(arm["blocking"]["pass1"]),
                percent(arm["blocking"]["pass1_by_verifier"]),
                percent(arm["blocking"]["block_rate"]),
                count(arm["not_counted"]["blocked_calls"]),
                count(arm["not_counted"]["auxiliary_calls"]),
            )
            for arm in arms
        ),
        note=f"{INTERVAL}. Blocked attempts count as unsolved in pass@1.",
    )


def _attempts(arms: Sequence[ArmJson]) -> Table:
    return Table(
        title="Attempts",
        columns=("arm", "planned", "finished", "unscorable", "in %", "not run", "counted per task"),
        rows=tuple(
            (
                text(arm["label"]),
                count(arm["planned"]),
                count(arm["finished"]),
                count(arm["unscorable"]),
                percent(_unscorable(arm)),
                count(arm["not_run"]),
                _counted(arm["attempts"]),
            )
            for arm in arms
        ),
        note="Unscorable attempts ended by a fault outside the sandbox; they are missing, not 0.",
    )


def _what_they_are(arms: Sequence[ArmJson]) -> Table:
    return Table(
        title="What they are",
        columns=("arm", "model", "engine", "harness", "folder"),
        rows=tuple(
            (
                text(arm["label"]),
                text(arm["model"]),
                text(arm["engine"]),
                text(f"{arm['harness']} {arm['harness_version']}".strip()),
                text(arm["path"]),
            )
            for arm in arms
        ),
    )


def _unscorable(arm: ArmJson) -> dict[str, float | None]:
    return {
        "est": arm["unscorable_share"],
        "lo": arm["unscorable_lo"],
        "hi": arm["unscorable_hi"],
    }


def _counted(attempts: Mapping[str, int]) -> Cell:
    fewest, most = attempts["fewest"], attempts["most"]
    said = str(most) if fewest == most else f"{fewest} to {most}"
    return Cell(said, float(most))
