"""``ha tasks``: make, bring, check and look at task bundles."""

from __future__ import annotations

from pathlib import Path

import click

from harness_adapters.cli.output import json_option, print_json, stderr
from harness_adapters.cli.tasks_check import check
from harness_adapters.cli.tasks_import import export, import_
from harness_adapters.cli.tasks_look import show, split, stats


@click.group()
def command() -> None:
    """Make and look at verifiable tasks."""


@command.command(epilog="Example: ha tasks generate /tmp/questions --count 200 --seed 7")
@click.argument("out", type=click.Path(path_type=Path))
@click.option("--kind", type=click.Choice(["qa"]), default="qa", show_default=True)
@click.option("--count", type=click.IntRange(min=1), required=True, help="How many tasks.")
@click.option("--seed", type=int, required=True, help="Same seed, same tasks.")
@click.option(
    "--tables", type=int, default=60, show_default=True, help="How many tables to ask about."
)
@click.option("--split", "of", metavar="train|dev|test", help="Only tables of this split.")
@json_option
def generate(
    out: Path, kind: str, count: int, seed: int, tables: int, of: str | None, as_json: bool
) -> None:
    """Write COUNT generated data questions as task bundles into the new folder OUT."""
    from harness_adapters.tasks import questions

    made = questions.generate(seed, count, tables=tables, split=of)
    written = questions.write_bundles(made, out)
    stderr().print(f"{written} {kind} tasks in {out}", soft_wrap=True)
    if as_json:
        print_json({"out": str(out), "kind": kind, "written": written})


for _one in (check, stats, show, split, import_, export):
    command.add_command(_one)
