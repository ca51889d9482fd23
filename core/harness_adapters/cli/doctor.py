"""``ha doctor``: is everything there, and what to do where it is not."""

from __future__ import annotations

import asyncio

import click

from harness_adapters.cli.lines import print_lines, rows
from harness_adapters.cli.output import json_option, print_json


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

    Each line is ok, warn or fail, with the fix. Each harness that is installed runs one command in
    a sandbox. Installs and changes nothing. Exit code 1 when something fails.
    """
    from harness_adapters.doctor.checks import examine
    from harness_adapters.doctor.line import Status, Subject
    from harness_adapters.plugins import Plugins
    from harness_adapters.serve.engine import parse_engine

    subject = Subject(
        plugins=Plugins.load(), engine=None if engine is None else parse_engine(engine)
    )
    found = asyncio.run(examine(subject))
    failed = any(line.status is Status.FAIL for lines in found.values() for line in lines)
    if as_json:
        print_json({"ok": not failed, "checks": rows(found)})
    else:
        print_lines(found)
    return int(failed)
