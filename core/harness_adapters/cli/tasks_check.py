"""``ha tasks check``: a thin shell over ``harness_adapters.tasks.checks.run.check_set``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness_adapters.cli.output import json_option, print_json, printable, stderr
from harness_adapters.errors import BadInput

if TYPE_CHECKING:
    from harness_adapters.tasks.checks import Evidence


@click.command(
    "check",
    epilog="""\b
Examples:
  ha tasks check examples/tasks --out checks/shipped
  ha tasks check my-tasks --kind repair --json | jq '.failures'
  ha tasks check my-tasks --out checks/mine --resume""",
)
@click.argument("tasks", type=click.Path(path_type=Path))
@click.option("--out", type=click.Path(path_type=Path), help="Evidence; by default checks/TIME.")
@click.option("--resume", is_flag=True, help="Go on with what --out holds.")
@click.option("--kind", help="Only tasks of this kind.")
@click.option("--split", help="Only tasks of this split: train, dev or test.")
@click.option("--limit", type=click.IntRange(1), metavar="N", help="Only the first N tasks.")
@click.option("--concurrency", type=click.IntRange(1), default=2, show_default=True, metavar="N")
@click.option("--sandbox", help="bubblewrap, docker or process; by default bubblewrap.")
@json_option
def check(tasks: Path, as_json: bool, **given: Any) -> int:
    """Make six checks of every task in TASKS, ours or foreign ones in Harbor's format.

    \b
    oracle          its solution scores 1 without a network
    baseline        doing nothing, an empty folder and stubs score 0
    stability       the same result at another time, in another order and time zone
    tamper          attacks on the verifier score 0
    discrimination  most small faults in the solution are found, another way of writing it is not
    leak            no test, piece of the solution, answer or secret where an agent looks

    Each task's evidence is one file in --out. Exit code 1 when a check fails.
    """
    from harness_adapters.tasks.checks.run import CheckInterrupted, check_set

    if given["resume"] and given["out"] is None:
        raise BadInput("--resume needs --out: the folder to go on with")
    console = stderr()

    def progress(found: Evidence, done: int, planned: int) -> None:
        console.print(printable(f"[{done}/{planned}] {line(found)}"), markup=False, soft_wrap=True)

    code = 0
    try:
        result = check_set(tasks, progress=progress, **given)
    except CheckInterrupted as stop:
        result, code = stop.result, 130
        console.print("interrupted; what finished is written down, go on with --resume")
    for problem in result.broken:
        console.print(printable(f"ha: {problem}"), markup=False, soft_wrap=True)
    summary = result.to_json()
    console.print(
        f"{summary['passed']} of {result.planned} tasks pass all checks; evidence in {result.out}",
        markup=False,
        soft_wrap=True,
    )
    if as_json:
        print_json(summary)
    return code or int(not result.ok)


def line(found: Evidence) -> str:
    """One task's result on a line, with more lines for what is wrong."""
    from harness_adapters.tasks.checks import Status

    if found.error:
        return f"{found.task}  could not be checked: {found.error}"
    words = [f"{found.task}  {'ok' if found.ok else 'FAILED'}"]
    for finding in found.findings:
        if finding.status is Status.FAILED:
            words.append(f"    {finding.check}: {finding.detail}")
        elif finding.status is Status.SKIPPED:
            words.append(f"    {finding.check} skipped: {finding.detail}")
    return "\n".join(words)
