"""``ha doctor``: is everything there, and what to do where it is not."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from harness_adapters.cli.output import json_option, print_json

if TYPE_CHECKING:
    from harness_adapters.doctor.line import Line

STYLES = {"ok": "green", "warn": "yellow", "fail": "bold red"}


@click.command(
    "doctor",
    epilog="""\b
Examples:
  ha doctor
  ha doctor --engine http://127.0.0.1:8000/v1
  ha doctor --json | jq '.checks[] | select(.status == "fail")'""",
)
@click.option("--engine", metavar="URL|scripted:PLAY", help="Also probe this model server.")
@json_option
def command(engine: str | None, as_json: bool) -> int:
    """Check this machine, and an engine, and say what to do.

    Each line is ok, warn or fail, with the fix. Installs and changes nothing. Exit code 1 when
    something fails.
    """
    from harness_adapters.doctor.checks import examine
    from harness_adapters.doctor.line import Status, Subject
    from harness_adapters.plugins import Plugins
    from harness_adapters.serve.engine import parse_engine

    subject = Subject(plugins=Plugins.load(), engine=parse_engine(engine) if engine else None)
    found = asyncio.run(examine(subject))
    failed = any(line.status is Status.FAIL for lines in found.values() for line in lines)
    if as_json:
        rows = [{"check": name, **asdict(line)} for name, lines in found.items() for line in lines]
        print_json({"ok": not failed, "checks": rows})
    else:
        _print(found)
    return int(failed)


def _print(found: dict[str, list[Line]]) -> None:
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False, soft_wrap=True)
    for name, lines in found.items():
        for line in lines:
            status = Text(f"{line.status:<5}", style=STYLES[line.status])
            console.print(status.append(f"{name:<8} ", style="dim").append(line.text, style=""))
            if line.fix:
                console.print(Text(f"{'':<14} fix: {line.fix}", style="dim"))
