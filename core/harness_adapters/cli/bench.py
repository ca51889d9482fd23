"""``ha bench``: how fast it is here, beside direct runs and peers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from harness_adapters.cli.output import json_option, print_json, stderr

if TYPE_CHECKING:
    from harness_adapters.bench.suite import Report


@click.group("bench")
def command() -> None:
    """Measure how fast the gateway and the embedded engine are here."""


@command.command(
    "gateway",
    epilog="""\b
Examples:
  ha bench gateway
  ha bench gateway --only P1,P4 --peer openenv --peer mitmproxy
  ha bench gateway --quick --json | jq '.results.P1.ok'""",
)
@click.option("--only", metavar="P1,P4", default="", help="Only these goals.")
@click.option(
    "--peer",
    "peers",
    multiple=True,
    metavar="NAME",
    help="Also measure openenv or mitmproxy, installed into the cache; may be given twice.",
)
@click.option("--quick", is_flag=True, help="Small loads, one round: does it work at all?")
@json_option
def gateway(only: str, peers: tuple[str, ...], quick: bool, as_json: bool) -> int:
    """Measure the gateway's goals: latency, throughput, streams, the guard's time, memory.

    Guards and capture are on. Each figure stands beside direct calls to the same engine in the
    same run, median of five rounds; goals are scaled by how fast direct calls are. Exit code 1
    when a goal is missed (not with --quick, whose figures mean nothing).
    """
    from harness_adapters.bench.suite import run

    console = stderr()
    report = run(
        only=[name.strip().upper() for name in only.split(",") if name.strip()],
        peers=peers,
        quick=quick,
        progress=lambda line: console.print(f"{line} ...", style="dim"),
    )
    if as_json:
        print_json(report.as_json())
    else:
        _print_table(report)
    return int(not quick and not report.ok)


@command.command("engine", epilog="Example: ha bench engine --json | jq '.speeds'")
@json_option
def engine(as_json: bool) -> None:
    """Measure the embedded engine: a model of 2M parameters, 1 to 48 sessions at once.

    Base and two adapters mixed, prompts of 600 tokens, answers of 96. The CPU time of a token
    says more than tokens a second where other processes want the machine too.
    """
    from harness_adapters.bench.embedded import run

    console = stderr()
    measured = run(progress=lambda line: console.print(f"{line} ...", style="dim"))
    if as_json:
        print_json(measured)
        return
    from rich.console import Console
    from rich.table import Table

    table = Table("sessions", "tokens/s", "CPU ms/token", "s/request", box=None)
    for speed in measured["speeds"]:
        table.add_row(*(str(value) for value in speed.values()))
    Console(highlight=False).print(table)
    console.print(f"Load of the machine: {measured['load']}", style="dim")


def _print_table(report: Report) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table("goal", "", "measure", "value", "goal", "x", "direct", box=None)
    for name, result in report.results.items():
        table.add_row(name, "", result.title, "", "", f"{result.scale:.2f}", _values(result.direct))
        for measure, value in result.value.items():
            least, most = result.goal.get(f"least_{measure}"), result.goal.get(measure)
            goal = f">= {_number(least)}" if least is not None else ""
            goal = f"<= {_number(most)}" if most is not None else goal
            missed = {measure, f"least_{measure}"} & set(result.missed)
            mark = "[red]miss[/]" if missed else "[green]ok[/]" if goal else ""
            row = (f"  {measure}", _number(value), goal, "", "")
            table.add_row("", mark, *row)
    console = Console(highlight=False)
    console.print(table)
    for name, note in report.peers.items():
        console.print(f"{name}: {note}", markup=False)
    before, after = report.machine["load_before"], report.machine["load_after"]
    console.print(
        f"x: what goals in time are multiplied by, since direct calls are that much slower here. "
        f"Load of the machine: {before} before, {after} after."
    )


def _values(values: object) -> str:
    if not isinstance(values, dict):
        return ""
    return ", ".join(f"{name} {_number(value)}" for name, value in values.items())


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
