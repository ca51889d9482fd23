"""``ha guard``: the guard on calls, recorded sessions, corpora and finished runs."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness_adapters.cli.guard_eval import evaluate
from harness_adapters.cli.guard_options import guard_options, make_guard
from harness_adapters.cli.guard_replay import replay
from harness_adapters.cli.guard_review import review
from harness_adapters.cli.output import json_option, print_json
from harness_adapters.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.console import Console

_MAX_STDIN = 16 * 1024 * 1024


@click.group("guard")
def command() -> None:
    """Try the guard on calls, recorded sessions and corpora; review what it blocked."""


command.add_command(replay)
command.add_command(evaluate)
command.add_command(review)


@command.command("list", epilog="Example: ha guard list --json | jq '.guards[].name'")
@guard_options
@json_option
def list_(guards: str | None, guard_config: Path | None, as_json: bool) -> None:
    """List guards: what each catches, where it comes from, and whether it is on."""
    from harness_adapters.plugins import Plugins

    plugins = Plugins.load()
    guard = make_guard(plugins, guards, guard_config)
    on = {rule.name for rule in guard.rules}
    rows = [
        {**_described(component), "on": component.name in on, "options": _options(guard, component)}
        for _, component in sorted(plugins.guards.components.items())
    ]
    if as_json:
        print_json({"guards": rows, "policy": guard.policy_hash})
        return
    from rich.console import Console
    from rich.table import Table

    table = Table("guard", "on", "distribution", "version", "what it does", box=None)
    for row in rows:
        on_off = "yes" if row["on"] else "no"
        table.add_row(row["name"], on_off, row["distribution"], row["version"], row["summary"])
    console = Console(highlight=False)
    console.print(table)
    console.print(f"policy {guard.policy_hash}")


def _described(component: Any) -> dict[str, Any]:
    return {
        "name": component.name,
        "distribution": component.distribution,
        "version": component.version,
        "summary": component.summary,
    }


def _options(guard: Any, component: Any) -> dict[str, Any]:
    return next((dict(r.options) for r in guard.rules if r.name == component.name), {})


def _one_call(command: Callable[..., Any]) -> Callable[..., Any]:
    for option in reversed(
        (
            click.option("--tool", metavar="NAME", help="Name of the tool that is called."),
            click.option(
                "--arguments", metavar="JSON", help="Its arguments, as the model sent them."
            ),
            click.option("--kind", help="Task kind; by default daily use."),
            click.option("--cwd", metavar="DIR", help="Working folder of the session."),
            click.option("--instruction", default="", help="What the user asked for."),
            guard_options,
            json_option,
        )
    ):
        command = option(command)
    return command


@command.command(
    "test",
    epilog="""\b
Examples:
  ha guard test --tool bash --arguments '{"command": "cat /tests/test.sh"}'
  ha guard test --kind repair < row.json""",
)
@_one_call
def test(
    tool: str | None,
    arguments: str | None,
    kind: str | None,
    cwd: str | None,
    instruction: str,
    guards: str | None,
    guard_config: Path | None,
    as_json: bool,
) -> int:
    """Judge one call, given by options or as one guard row on stdin.

    Exit code 0 whatever the verdict, 1 when a rule is at fault.
    """
    row = _asked(tool, arguments, kind, cwd, instruction)
    content = _judged(row, guards, guard_config)
    shown = {key: content[key] for key in ("decision", "findings", "faults", "infra", "policy")}
    if as_json:
        print_json(shown)
    else:
        _print_verdict(_console(), content)
    return int(bool(content["faults"]))


@command.command(
    "explain",
    epilog="""\b
Examples:
  ha guard explain --kind repair --tool bash --arguments '{"command": "rm tests/test_a.py"}'
  head -1 corpus.jsonl | ha guard explain""",
)
@_one_call
def explain(
    tool: str | None,
    arguments: str | None,
    kind: str | None,
    cwd: str | None,
    instruction: str,
    guards: str | None,
    guard_config: Path | None,
    as_json: bool,
) -> int:
    """Show how one call is read: its actions, what the session knew, which rule objects where."""
    row = _asked(tool, arguments, kind, cwd, instruction)
    content = _judged(row, guards, guard_config)
    if as_json:
        print_json(content)
    else:
        console = _console()
        _print_explanation(console, content)
        _print_verdict(console, content)
    return int(bool(content["faults"]))


def _asked(
    tool: str | None, arguments: str | None, kind: str | None, cwd: str | None, instruction: str
) -> Any:
    """The row of the options, or of stdin; options win over the row."""
    from harness_adapters.gateway.offline.rows import CallOfRow, OneCall, parse_row

    if (tool is None) != (arguments is None):
        raise BadInput("--tool and --arguments go together")
    if tool is not None:
        row = OneCall(tool_call=CallOfRow(name=tool, arguments=arguments))
    else:
        if sys.stdin.isatty():
            raise BadInput("name a call with --tool and --arguments, or pipe in a guard row")
        text = sys.stdin.buffer.read(_MAX_STDIN + 1)
        if len(text) > _MAX_STDIN:
            raise BadInput(f"more than {_MAX_STDIN} bytes on stdin")
        try:
            row = parse_row(text, OneCall)
        except BadInput as error:
            raise BadInput(f"stdin: {error}") from None
    changes = {"task_kind": kind, "cwd": cwd, "instruction": instruction or None}
    return row.model_copy(update={name: value for name, value in changes.items() if value})


def _judged(row: Any, guards: str | None, guard_config: Path | None) -> dict[str, Any]:
    from harness_adapters.gateway.offline.explain import explanation
    from harness_adapters.gateway.offline.rows import open_row
    from harness_adapters.plugins import Plugins

    plugins = Plugins.load()
    guard = make_guard(plugins, guards, guard_config)
    session, call = open_row(row, plugins)
    judgement = asyncio.run(guard.judge(call, session.ledger))
    return explanation(call, judgement, guard, session.ledger)


# --- for people ---------------------------------------------------------------------------------


def _console() -> Console:
    from rich.console import Console

    return Console(highlight=False)


def _print_verdict(console: Console, content: dict[str, Any]) -> None:
    from harness_adapters.cli.guard_text import marked
    from harness_adapters.cli.output import printable

    style = {"allow": "green", "flag": "yellow"}.get(content["decision"], "bold red")
    console.print(content["decision"], style=style)
    for finding in content["findings"]:
        line = f"{finding['rule']} ({finding['severity']}): {finding['message']}"
        console.print(printable(line), markup=False, soft_wrap=True)
        if finding["span"]:
            console.print(marked(content["arguments"], *finding["span"]), soft_wrap=True)
    for fault in content["faults"]:
        console.print(f"fault: {printable(fault)}", markup=False, soft_wrap=True)
    names = ", ".join(rule["name"] for rule in content["rules"]) or "none: the guards are off"
    console.print(f"asked: {names}; policy {content['policy']}", style="dim", markup=False)


def _print_explanation(console: Console, content: dict[str, Any]) -> None:
    from harness_adapters.cli.output import printable

    def say(text: str) -> None:
        console.print(printable(text), markup=False, soft_wrap=True)

    say(f"tool {content['tool']}" + ("" if content["strict"] else ", arguments no strict JSON"))
    console.print("actions", style="bold")
    for action in content["actions"]:
        rest = {k: v for k, v in action.items() if k not in ("action", "span", "text")}
        what = " ".join(f"{name}={value!r}" for name, value in rest.items() if value is not None)
        say(f"  {action['action']} {what}".rstrip())
        if action["text"]:
            say(f"    from: {action['text']}")
    if not content["actions"]:
        say("  none")
    for title in ("task_policy", "ledger"):
        console.print(title.replace("_", " "), style="bold")
        for name, value in content[title].items():
            say(f"  {name}: {value!r}")
