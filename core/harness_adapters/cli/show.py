"""``ha show``: a run as a table, or one rollout readably."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from harness_adapters.cli.output import json_option, print_json, printable, stderr
from harness_adapters.errors import BadInput, did_you_mean
from harness_adapters.gateway.transcript import JudgedCall, Turn
from harness_adapters.record.codec import to_record
from harness_adapters.record.folder import derive, file_name, read_manifest, read_rollouts
from harness_adapters.record.trajectory import text_of
from harness_adapters.summary import summarise
from harness_adapters.types import Outcome, Rollout

if TYPE_CHECKING:
    from harness_adapters.audit import Note

_STYLES = {Outcome.SOLVED: "green", Outcome.FAILED: "yellow", Outcome.INFRA: "dim"}
_LONGEST = 2000  # characters of one message that a person is shown


@click.command(
    "show",
    epilog="""\b
Examples:
  ha show runs/first
  ha show runs/first repair-semver.0
  ha show runs/first --json
  ha show runs/first --derive""",
)
@click.argument("run", type=click.Path(path_type=Path))
@click.argument("rollout", required=False)
@click.option(
    "--derive",
    "and_derive",
    is_flag=True,
    help="First write rollouts.parquet and trajectories/ anew from the log, as a run does at its "
    "end; after Ctrl-C they are not there yet.",
)
@json_option
def command(run: Path, rollout: str | None, and_derive: bool, as_json: bool) -> int:
    """Show the run folder RUN, or one ROLLOUT of it (TASK.ATTEMPT, or TASK for its first)."""
    manifest = read_manifest(run)
    if and_derive:
        for problem in derive(run):
            stderr().print(f"ha: {problem}", markup=False, soft_wrap=True)
    if rollout is None:
        if as_json:
            planned = len(manifest.tasks) * manifest.attempts
            print_json(summarise(read_rollouts(run), planned=planned, broken=manifest.broken))
        else:
            print_run(run)
        return 0
    one = _find(run, rollout)
    if as_json:
        print_json(to_record(one))
    else:
        _print_rollout(one)
    return 0


def print_run(run: Path) -> None:
    """The table of a run and its totals, to stdout."""
    manifest = read_manifest(run)
    rollouts = list(read_rollouts(run))
    table = Table("rollout", "outcome", "reward", "calls", "turns", "seconds", "", box=None)
    for one in sorted(rollouts, key=lambda one: (one.task_id, one.attempt)):
        table.add_row(
            file_name(one.task_id, one.attempt),
            Text(one.outcome.value, style=_STYLES.get(one.outcome, "red")),
            "-" if one.reward is None else f"{one.reward:.3f}",
            str(one.calls),
            str(len(one.transcript.turns)),
            f"{one.seconds:.1f}",
            escape(_remark(one)),
        )
    console = Console(highlight=False)
    console.print(
        f"{manifest.harness} {manifest.harness_version} · {manifest.model} on "
        f"{manifest.engine['name']} · {manifest.sandbox}",
        markup=False,
    )
    console.print(table)
    planned = len(manifest.tasks) * manifest.attempts
    totals = summarise(rollouts, planned=planned, broken=manifest.broken)
    reward, calls = totals["mean_reward"], totals["mean_calls"]
    console.print(
        f"{totals['solved']} solved, {totals['failed']} failed, {totals['blocked']} blocked, "
        f"{totals['infra']} infra of {planned} planned"
        f"{f', {manifest.broken} tasks broken' if manifest.broken else ''}; "
        f"mean reward {'-' if reward is None else f'{reward:.3f}'}, "
        f"mean calls {'-' if calls is None else f'{calls:.2f}'}",
        soft_wrap=True,
    )
    console.print(f"recorded in {run}", markup=False, soft_wrap=True)


def _remark(rollout: Rollout) -> str:
    blocked = [f.rule for call in rollout.transcript.blocked for f in call.findings]
    parts = [*sorted(rollout.flags), *sorted(set(blocked))]
    if rollout.error:
        parts.append(rollout.error)
    elif rollout.verdict and not rollout.verdict.passed and not blocked:
        parts.append(rollout.verdict.detail)
    text = printable("; ".join(part for part in parts if part))
    return text if len(text) <= 100 else f"{text[:97]}..."


def _find(run: Path, name: str) -> Rollout:
    rollouts = {file_name(one.task_id, one.attempt): one for one in read_rollouts(run)}
    wanted = name.replace("/", "__")
    for candidate in (wanted, f"{wanted}.0"):
        if candidate in rollouts:
            return rollouts[candidate]
    raise BadInput(f"{run} has no rollout {name!r}{did_you_mean(wanted, rollouts)}")


def _print_rollout(rollout: Rollout) -> None:
    console = Console(highlight=False)
    for turn in rollout.transcript.turns:
        for message in turn.new_messages:
            _print_message(console, message)
        _print_turn(console, turn)
    console.rule(style="dim")
    reward = "none" if rollout.reward is None else f"{rollout.reward:.3f}"
    terms = ", ".join(f"{term.name} {term.value:+.3f}" for term in rollout.terms)
    console.print(f"{rollout.outcome}  reward {reward}  ({terms or 'no terms'})", markup=False)
    if rollout.verdict:
        console.print(_short(f"verifier: {rollout.verdict.detail}"), markup=False)
        for name, result in rollout.verdict.tests.items():
            console.print(_short(f"  {result:7}{name}"), markup=False)
    if rollout.error:
        console.print(_short(f"error: {rollout.error}"), markup=False)
    for note in _audit(rollout):
        console.print(f"audit: {note.check}: {note.message}", markup=False, soft_wrap=True)


def _audit(rollout: Rollout) -> tuple[Note, ...]:
    from harness_adapters.audit import audit
    from harness_adapters.gateway.offline.policies import lenient_policy
    from harness_adapters.plugins import Plugins

    return audit(rollout, lenient_policy(Plugins.load(), rollout.kind))


def _print_message(console: Console, message: dict[str, Any]) -> None:
    role = str(message.get("role"))
    if role != "assistant":  # what the model said is printed from its own turn
        console.print(Text(role, style="bold cyan"))
        console.print(Text(_short(text_of(message.get("content")))))


def _print_turn(console: Console, turn: Turn) -> None:
    heading = f"turn {turn.index}  {turn.model}  {len(turn.sampled_ids)} tokens"
    if turn.auxiliary:
        heading += f"  auxiliary: {turn.auxiliary}"
    if turn.parent is None and turn.index:
        heading += "  new root"
    console.print(Text(heading, style="bold magenta"))
    if text := text_of(turn.reply.get("content")):
        console.print(Text(_short(text)))
    for call in turn.calls:
        _print_call(console, call)


def _print_call(console: Console, call: JudgedCall) -> None:
    style = "green" if call.executed else "bold red"
    note = "" if call.executed else f"  [{'dropped' if call.dropped else call.decision}]"
    console.print(Text(_short(f"> {call.name}{note}"), style=style))
    console.print(Text(_short(str(call.arguments)), style="dim"))
    for finding in call.findings:
        console.print(Text(_short(f"  {finding.rule}: {finding.message}"), style="red"))


def _short(text: str) -> str:
    text = printable(text)
    cut = len(text) - _LONGEST
    return text if cut <= 0 else f"{text[:_LONGEST]}\n... {cut} more characters"
