"""``ha plugin``: write a plugin of your own, and hold an installed one to its contract."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from harness_adapters.cli.output import json_option, print_json, stderr

if TYPE_CHECKING:
    from harness_adapters.plugins import PluginInfo
    from harness_adapters.testing.check import Checked


@click.group("plugin")
def command() -> None:
    """Write a plugin of your own, and check that it keeps its contract."""


@command.command(
    "new",
    epilog="""\b
Example:
  ha plugin new guard no-sudo
  pip install -e ./ha-guard-no-sudo
  ha plugin check no-sudo""",
)
@click.argument("kind", metavar="guard|harness|task|reward")
@click.argument("name")
@json_option
def new(kind: str, name: str, as_json: bool) -> int:
    """Write a distribution that works, in a new folder ha-KIND-NAME here.

    NAME is small letters and digits, with single dashes between. The distribution holds one
    component, its contract with examples, and tests; change it from there.
    """
    from harness_adapters.scaffold import write_distribution

    folder = write_distribution(kind, name, Path.cwd())
    if as_json:
        print_json({"folder": str(folder), "files": [*map(str, _files(folder))]})
    else:
        stderr().print(
            f"wrote {folder.name}; next:\n"
            f"  pip install -e ./{folder.name}\n"
            f"  ha plugin check {name}",
            markup=False,
        )
    return 0


@command.command("check", epilog="Example: ha plugin check tamper --json")
@click.argument("name")
@json_option
def check(name: str, as_json: bool) -> int:
    """Run the contract kit on the installed plugin NAME.

    It runs the plugin's code, and for a harness its real program. Exit code 1 when a test fails.
    """
    from harness_adapters.testing.check import check_plugin, find_plugin

    info = find_plugin(name)
    console = stderr()
    with console.status(f"running the contracts of {info.name}"):
        checked = check_plugin(info)
    counts = Counter(one.result for one in checked)
    failed = bool(counts["failed"]) or not counts["passed"]
    if as_json:
        print_json(
            {
                "plugin": info.name,
                "distribution": info.distribution,
                "version": info.version,
                **{result: counts[result] for result in ("passed", "failed", "skipped")},
                "tests": [asdict(one) for one in checked],
            }
        )
    else:
        _print_table(info, checked)
    return int(failed)


def _files(folder: Path) -> list[Path]:
    return sorted(path.relative_to(folder) for path in folder.rglob("*") if path.is_file())


def _print_table(info: PluginInfo, checked: Sequence[Checked]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    styles = {"passed": "", "failed": "bold red", "skipped": "dim"}
    table = Table("contract", "test", "result", "detail", box=None)
    for one in checked:
        cells = (one.contract.removeprefix("Test"), one.test, one.result, one.detail)
        table.add_row(*map(Text, cells), style=styles[one.result])
    counts = Counter(one.result for one in checked)
    console = Console(highlight=False)
    console.print(table)
    numbers = ", ".join(f"{counts[result]} {result}" for result in styles)
    console.print(f"{info.name} ({info.distribution} {info.version}): {numbers}", markup=False)
