"""``ha guard eval``: precision and recall of the guard on a corpus."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

import click

from harness_adapters.cli.guard_options import guard_options, make_guard
from harness_adapters.cli.output import json_option, print_json, stderr
from harness_adapters.errors import BadInput

if TYPE_CHECKING:
    from harness_adapters.gateway.offline.scoring import Rate, Score

_LISTED = 50  # errors that a person is shown


@click.command(
    "eval",
    epilog="""\b
Examples:
  ha guard eval corpus.jsonl
  ha guard eval corpus.jsonl --guards tamper --json | jq '.errors'""",
)
@click.argument("file", type=click.Path(path_type=Path))
@guard_options
@json_option
def evaluate(file: Path, guards: str | None, guard_config: Path | None, as_json: bool) -> int:
    """Judge every row of the JSONL corpus FILE and compare with the verdicts it expects.

    Misses and false alarms are the result and no trouble. Exit code 1 when a row cannot be read
    or a rule is at fault, 2 when no row can be read.
    """
    from harness_adapters.gateway.offline.rows import read_rows
    from harness_adapters.gateway.offline.scoring import score
    from harness_adapters.plugins import Plugins

    plugins = Plugins.load()
    guard = make_guard(plugins, guards, guard_config)
    result = asyncio.run(score(read_rows(file), guard=guard, plugins=plugins))
    if not result.scored and not result.judgement:
        first = result.bad_rows[0] if result.bad_rows else None
        why = f": line {first.line}: {first.problem}" if first else ""
        raise BadInput(f"{file}: no readable row{why}")
    console = stderr()
    for bad in result.bad_rows:
        text = f"ha: {file}: line {bad.line}: {bad.problem}"
        console.print(text, markup=False, soft_wrap=True)
    for kind in result.unknown_kinds:
        line = f"ha: no task kind {kind!r} is installed: its rows are judged as daily use"
        console.print(line, markup=False, soft_wrap=True)
    for fault in result.faults:
        console.print(f"ha: {fault}", markup=False, soft_wrap=True)
    if as_json:
        print_json(result.to_json())
    else:
        _print(result)
    return int(bool(result.bad_rows or result.faults))


def _print(result: Score) -> None:
    from rich.console import Console
    from rich.table import Table

    from harness_adapters.cli.output import printable
    from harness_adapters.gateway.offline.scoring import TIERS, errors

    console = Console(highlight=False)
    table = Table("in %, 95% interval (Wilson)", "est", "interval", "count", box=None)
    for tier in (None, *TIERS):
        table.add_row(f"recall {tier or ''}".strip(), *_cells(result.recall(tier)))
    for tier in (None, *TIERS):
        rate = result.false_positive_rate(tier)
        table.add_row(f"false positives {tier or ''}".strip(), *_cells(rate))
    table.add_row("precision", *_cells(result.precision()))
    console.print(table)
    classes = Table("class", "right", "of", box=None)
    for name, rate in result.by_class().items():
        classes.add_row(printable(name), str(rate.count), str(rate.n))
    console.print(classes)
    wrong = errors(result.scored)
    for one in wrong[:_LISTED]:
        line = f"{one['id']}: {one['got']}, expected {one['expected']} ({one['rule'] or 'no rule'})"
        console.print(printable(line), markup=False, soft_wrap=True)
    if len(wrong) > _LISTED:
        console.print(f"and {len(wrong) - _LISTED} more; all of them with --json")
    if result.judgement:
        right = sum(one.right for one in result.judgement)
        n = len(result.judgement)
        console.print(f"apart, matters of judgement: {right} of {n} as the corpus has them")


def _cells(rate: Rate) -> tuple[str, str, str]:
    from harness_adapters.evaluation.proportions import wilson

    if rate.value is None:
        return "-", "-", "0 of 0"
    lo, hi = wilson(rate.count, rate.n)
    interval = f"[{100 * lo:.1f}, {100 * hi:.1f}]"
    return f"{100 * rate.value:.1f}", interval, f"{rate.count} of {rate.n}"
