"""One run, or the arms of an evaluation without anything to compare, as a report."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from harness_adapters.evaluation.arms import Arm, TaskResult
from harness_adapters.evaluation.clustered import mean
from harness_adapters.evaluation.compare import about
from harness_adapters.evaluation.pairs import mean_of
from harness_adapters.evaluation.report.arms import arms_section, blocks_table, rules_table
from harness_adapters.evaluation.report.document import Cell, Document, Forest, Section, Table
from harness_adapters.evaluation.report.numbers import (
    INTERVAL,
    amount,
    count,
    percent,
    points_mark,
    text,
)


def of_run(arm: Arm) -> Document:
    manifest = arm.manifest
    return Document(
        title=f"Run of {manifest.model} in {manifest.harness}",
        subtitle=str(arm.path),
        sections=single_sections([(manifest.model, arm)]),
    )


def single_sections(arms: Sequence[tuple[str, Arm]]) -> tuple[Section, ...]:
    """Each arm by itself, then the tables over all of them."""
    described = [{**about(arm), "label": label} for label, arm in arms]
    return (
        *(_section(label, arm, said) for (label, arm), said in zip(arms, described, strict=True)),
        arms_section(described),
    )


def _section(label: str, arm: Arm, said: dict[str, Any]) -> Section:
    results = list(arm.results.values())
    rules = rules_table([said])
    groups = {
        "all": results,
        **_grouped(results, "kind", lambda one: one.kind),
        **_grouped(results, "difficulty", lambda one: one.difficulty or "unstated"),
    }
    rows = [(name, group, _pass1(group), _calls(group)) for name, group in groups.items()]
    return Section(
        title=label,
        blocks=(
            Forest(
                title="pass@1",
                axis="%",
                marks=tuple(points_mark(name, pass1, signed=False) for name, _, pass1, _ in rows),
                limits=(0.0, 100.0),
            ),
            Table(
                title="pass@1 and calls",
                columns=("", "tasks", "clusters", "pass@1, %", "calls per attempt"),
                rows=tuple(
                    (
                        text(name),
                        count(len(group)),
                        count(len({one.cluster for one in group})),
                        percent(pass1),
                        amount(calls),
                    )
                    for name, group, pass1, calls in rows
                ),
                note=f"{INTERVAL}, clustered. Calls of all finished attempts, solved or not.",
            ),
            *([blocks_table([said]), rules] if rules else []),
            _tasks(results),
        ),
    )


def _grouped(
    results: Sequence[TaskResult], what: str, name: Callable[[TaskResult], str]
) -> dict[str, list[TaskResult]]:
    groups: dict[str, list[TaskResult]] = {}
    for one in sorted(results, key=name):
        groups.setdefault(f"{what}: {name(one)}", []).append(one)
    return groups


def _pass1(results: Sequence[TaskResult]) -> dict[str, Any]:
    spread = mean([one.pass_rate for one in results], [one.cluster for one in results])
    return spread.bounded_interval(0, 1).to_json()


def _calls(results: Sequence[TaskResult]) -> dict[str, Any]:
    spread = mean([_mean_calls(one) for one in results], [one.cluster for one in results])
    return spread.log_interval().to_json()


def _mean_calls(result: TaskResult) -> float:
    return mean_of(result.attempts, lambda one: one.calls, only_solved=False)


def _tasks(results: Sequence[TaskResult]) -> Table:
    return Table(
        title="Tasks",
        columns=("task", "cluster", "kind", "attempts", "solved", "blocked", "calls", "seconds"),
        rows=tuple(
            (
                text(one.task_id),
                text(one.cluster),
                text(one.kind),
                count(len(one.attempts)),
                count(one.solved),
                count(sum(attempt.blocked for attempt in one.attempts)),
                _mean(one, lambda attempt: attempt.calls),
                _mean(one, lambda attempt: attempt.seconds),
            )
            for one in results
        ),
        note="Means over a task's finished attempts; single tasks carry no interval.",
    )


def _mean(result: TaskResult, value: Callable[[Any], float]) -> Cell:
    found = mean_of(result.attempts, value, only_solved=False)
    return Cell(f"{found:.1f}", found)
