"""``ha guard replay``: recorded sessions before the guard."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from harness_adapters.cli.guard_options import guard_options, make_guard
from harness_adapters.cli.output import json_option, print_json, stderr
from harness_adapters.errors import BadInput

if TYPE_CHECKING:
    from harness_adapters.gateway.guard.judge import Guard
    from harness_adapters.gateway.offline.replay import Replay
    from harness_adapters.types import TaskPolicy


@click.command(
    "replay",
    epilog="""\b
Examples:
  ha guard replay ~/.claude/projects/*/*.jsonl
  ha guard replay runs/first/trajectories/*.json --kind repair --json""",
)
@click.argument(
    "traces", type=click.Path(path_type=Path), nargs=-1, required=True, metavar="TRACE..."
)
@click.option("--format", help="Format of the files; by default their content tells.")
@click.option("--kind", help="Judge as in a task of this kind; by default as in daily use.")
@guard_options
@json_option
def replay(
    traces: tuple[Path, ...],
    format: str | None,
    kind: str | None,
    guards: str | None,
    guard_config: Path | None,
    as_json: bool,
) -> int:
    """Say what the guard would have done in recorded sessions. Nothing is blocked or changed.

    Reads logs of pi, Claude Code, Codex, opencode, hermes and SWE-agent, ATIF, and chat messages
    in JSON, JSONL or parquet. Exit code 1 when a file cannot be read or a rule is at fault, 2 when
    no file can be read.
    """
    from harness_adapters.gateway.offline.policies import kind_policy
    from harness_adapters.gateway.offline.replay import totals
    from harness_adapters.plugins import Plugins

    plugins = Plugins.load()
    guard = make_guard(plugins, guards, guard_config)
    policy = kind_policy(plugins, kind)
    replays: list[Replay] = []
    unreadable: list[BadInput] = []
    for path in traces:
        try:
            replays += asyncio.run(_replayed(path, format, guard, policy))
        except BadInput as error:
            unreadable.append(error)
    if not replays:
        raise unreadable[0]
    console = stderr()
    for problem in unreadable:
        console.print(f"ha: {problem}", markup=False, soft_wrap=True)
    faults = {fault for one in replays for hit in one.hits for fault in hit.judgement.faults}
    for fault in sorted(faults):
        console.print(f"ha: {fault}", markup=False, soft_wrap=True)
    content = {
        **totals(replays),
        "unreadable": list(map(str, unreadable)),
        "policy": guard.policy_hash,
        "sessions": [one.to_json() for one in replays],
    }
    if as_json:
        print_json(content)
    else:
        _print(replays)
    return int(bool(unreadable or faults))


async def _replayed(
    path: Path, format: str | None, guard: Guard, policy: TaskPolicy
) -> list[Replay]:
    from harness_adapters.gateway.offline import replay as offline
    from harness_adapters.tasks.traces import read_traces

    found = read_traces(path, format=format)
    replays: list[Replay] = []
    for number, trace in enumerate(found, start=1):
        place = trace.cwd if trace.cwd.startswith("/") else policy.workdir
        source = f"{path}#{number}" if len(found) > 1 else str(path)
        own = replace(policy, workdir=place)
        replays += await offline.replay(trace, guard=guard, policy=own, source=source)
    return replays


def _print(replays: list[Replay]) -> None:
    from rich.console import Console
    from rich.table import Table

    from harness_adapters.cli.guard_text import marked
    from harness_adapters.cli.output import printable
    from harness_adapters.gateway.offline.replay import totals

    console = Console(highlight=False)
    for one in replays:
        for hit in one.hits:
            decision = hit.judgement.decision
            head = f"{one.source}: call {hit.call.number} {hit.call.name}: {decision}"
            console.print(printable(head), markup=False, soft_wrap=True)
            for finding in hit.judgement.findings:
                line = f"  {finding.rule} ({finding.severity}): {finding.message}"
                console.print(printable(line), markup=False, soft_wrap=True)
                if finding.span:
                    console.print(marked(hit.call.raw, *finding.span), soft_wrap=True)
    sums = totals(replays)
    table = Table("rule", "blocks", "flags", box=None)
    for rule, counts in sums["by_rule"].items():
        table.add_row(rule, str(counts.get("block", 0)), str(counts.get("flag", 0)))
    if sums["by_rule"]:
        console.print(table)
    console.print(
        f"{sums['calls']} calls in {sums['traces']} sessions: {sums['blocked']} would be blocked, "
        f"{sums['flagged']} flagged, {sums['unjudgeable']} unjudgeable"
    )
    damaged = sum(one.trace.malformed for one in replays)
    if damaged:
        console.print(f"{damaged} lines could not be read and are left out")
    for reason in sorted({reason for one in replays for reason in one.skipped}):
        without = sum(reason in one.skipped for one in replays)
        console.print(f"skipped in {without} sessions: {reason}", markup=False)
