"""``ha compare``: did the adapter help, by how much, and how sure are we."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from harness_adapters.cli.output import json_option, print_json, stderr

if TYPE_CHECKING:
    from harness_adapters.evaluate.compare import Comparison

_PIPED_WIDTH = 120
_LISTED = 10  # gained or lost tasks that a person is shown


@click.command(
    "compare",
    epilog="""\b
Examples:
  ha compare runs/base runs/adapter
  ha compare runs/base runs/v1 runs/v2 --json
  ha compare runs/base runs/adapter --margin 0.03""",
)
@click.argument("base", type=click.Path(path_type=Path))
@click.argument("runs", type=click.Path(path_type=Path), nargs=-1, required=True, metavar="RUN...")
@click.option(
    "--margin",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.05,
    show_default=True,
    help="Differences of pass@1 up to this count as equivalent.",
)
@click.option(
    "--seed", type=click.IntRange(0), default=0, show_default=True, help="For permutation tests."
)
@json_option
def command(base: Path, runs: tuple[Path, ...], margin: float, seed: int, as_json: bool) -> int:
    """Compare each RUN with the run BASE: same tasks, paired, clustered.

    Runs that differ in anything but the model are refused. Exit code 1 when more than 5% of an
    arm's attempts are missing, or when the data allow no interval.
    """
    from harness_adapters.evaluate.compare import compare

    comparison = compare(base, *runs, margin=margin, seed=seed)
    for line in comparison.trouble:
        stderr().print(f"ha: {line}", markup=False, soft_wrap=True)
    if as_json:
        print_json(comparison.to_json())
    else:
        print_comparison(comparison)
    return int(bool(comparison.trouble))


def print_comparison(comparison: Comparison) -> None:
    """Tables for people, to stdout."""
    width = None if sys.stdout.isatty() else _PIPED_WIDTH
    console = Console(highlight=False, width=width)
    content = comparison.to_json()
    _print_arms(console, content)
    for run in content["runs"]:
        console.print(f"\n{run['path']} against {content['base']['path']}", markup=False)
        for sentence in (*run["verdict"]["sentences"], *run["notes"]):
            console.print(sentence, markup=False, soft_wrap=True)
        _print_accuracy(console, run)
        _print_efficiency(console, run)
        _print_tasks(console, run)


def _print_arms(console: Console, content: dict[str, Any]) -> None:
    arms = [content["base"], *content["runs"]]
    table = Table("", *(escape(arm["path"]) for arm in arms), box=None)
    rows: list[tuple[str, Callable[[dict[str, Any]], str]]] = [
        ("model", lambda arm: escape(arm["model"])),
        ("engine", lambda arm: escape(str(arm["engine"]))),
        ("attempts planned", lambda arm: str(arm["planned"])),
        ("attempts finished", lambda arm: str(arm["finished"])),
        ("attempts unscorable", lambda arm: str(arm["unscorable"])),
        ("attempts not run", lambda arm: str(arm["not_run"])),
        ("attempts counted per task", _counted),
        ("pass@1, %", lambda arm: _percent(arm["blocking"]["pass1"])),
        ("attempts blocked, %", lambda arm: _percent(arm["blocking"]["block_rate"])),
        ("calls blocked", lambda arm: str(arm["not_counted"]["blocked_calls"])),
        ("calls auxiliary", lambda arm: str(arm["not_counted"]["auxiliary_calls"])),
    ]
    for name, cell in rows:
        table.add_row(name, *(cell(arm) for arm in arms))
    console.print(table)


def _counted(arm: dict[str, Any]) -> str:
    attempts = arm["attempts"]
    if attempts["fewest"] == attempts["most"]:
        return str(attempts["most"])
    return f"{attempts['fewest']} to {attempts['most']}"


def _print_accuracy(console: Console, run: dict[str, Any]) -> None:
    table = Table("in %", "tasks", "base", "run", "difference", box=None)
    sections = {
        "": {
            **{f"pass@{row['k']}": row for row in run["pass_at_k"]},
            **{f"pass^{row['k']}": row for row in run["pass_hat_k"] if row["k"] > 1},
        },
        "by kind": run["by_kind"],
        "by difficulty": run["by_difficulty"],
    }
    for title, rows in sections.items():
        if title:
            table.add_row()
            table.add_row(title)
        for name, row in rows.items():
            arms = (_percent(row["base"]), _percent(row["run"]), _percent(row["diff"], sign="+"))
            table.add_row(escape(name), str(row["n_tasks"]), *arms)
    console.print(table)


def _print_efficiency(console: Console, run: dict[str, Any]) -> None:
    table = Table("cost", "base", "run", "ratio", box=None)
    table.add_row("calls, both solved", "", "", _number(run["calls_ratio"], 2))
    capped = run["efficiency"]["all_runs_capped"]
    rows = [("calls, unsolved=cap", capped)]
    rows += [(f"{name} per solve", cost) for name, cost in run["efficiency"]["per_solve"].items()]
    for name, cost in rows:
        table.add_row(
            name, _number(cost["base"], 1), _number(cost["run"], 1), _number(cost["ratio"], 2)
        )
    console.print(table)


def _print_tasks(console: Console, run: dict[str, Any]) -> None:
    solved = run["solved"]
    console.print(
        f"solved by both {solved['both']}, only by the base {solved['only_base']}, only by the run "
        f"{solved['only_run']}, by neither {solved['neither']}; "
        f"pass rate higher on {solved['better']} tasks, lower on {solved['worse']}",
        soft_wrap=True,
    )
    for name in ("gained", "lost"):
        tasks = solved[name]
        if tasks:
            more = f" and {len(tasks) - _LISTED} more" if len(tasks) > _LISTED else ""
            listed = ", ".join(tasks[:_LISTED])
            console.print(f"{name}: {listed}{more}", markup=False, soft_wrap=True)


def _percent(value: dict[str, Any], sign: str = "") -> str:
    if value["est"] is None:
        return "-"
    est, lo, hi = (None if v is None else 100 * v for v in (value["est"], value["lo"], value["hi"]))
    return f"{est:{sign}.1f}" + (f" [{lo:{sign}.1f}, {hi:{sign}.1f}]" if lo is not None else "")


def _number(value: dict[str, Any], digits: int) -> str:
    if value["est"] is None:
        return "-"
    lo, hi = value["lo"], value["hi"]
    interval = f" [{lo:.{digits}f}, {hi:.{digits}f}]" if lo is not None else ""
    return f"{value['est']:.{digits}f}{interval}"
