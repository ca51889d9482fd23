"""``ha gateway``: the guard in front of the agent that a person already uses."""

from __future__ import annotations

import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import orjson

from harness_adapters.cli.output import json_option, print_json, stderr
from harness_adapters.errors import BadInput, HarnessAdaptersError, did_you_mean

if TYPE_CHECKING:
    from harness_adapters.gateway.interactive.running import Running

STOP_SECONDS = 10.0


@click.group("gateway")
def command() -> None:
    """Put the guard in front of the agent you already use."""


@command.command(
    "start",
    epilog="""\b
Examples:
  ha gateway start https://api.anthropic.com
  ha gateway start https://api.openai.com/v1 --detach
  ha gateway start http://127.0.0.1:8000/v1 --log-only --log verdicts.log""",
)
@click.argument("upstream")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="By default any free one.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to bind to.")
@click.option(
    "--admin-key",
    envvar="HA_GATEWAY_ADMIN_KEY",
    help="Key of the admin routes; needed for a host that is not loopback.",
)
@click.option("--guards", metavar="A,B", help="Guards by name; by default all built-in ones.")
@click.option("--log-only", is_flag=True, help="Judge and log, block nothing.")
@click.option(
    "--project",
    type=click.Path(path_type=Path),
    default=Path(),
    metavar="DIR",
    help="Folder that the agent works in; by default this one.",
)
@click.option(
    "--log",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Append redacted verdicts; by default nothing is written.",
)
@click.option("--detach", is_flag=True, help="Go on in the background.")
@json_option
def start(
    upstream: str,
    port: int,
    host: str,
    admin_key: str | None,
    guards: str | None,
    log_only: bool,
    project: Path,
    log: Path | None,
    detach: bool,
    as_json: bool,
) -> int:
    """Serve UPSTREAM, the URL of a model server, with every tool call judged.

    Each agent talks to its own kind of server: Anthropic Messages, OpenAI Responses or Chat
    Completions go through untranslated, with your own credential. Prints the line for each
    harness. Ends on Ctrl-C or with "ha gateway stop".
    """
    from harness_adapters.gateway.interactive.detached import in_background
    from harness_adapters.gateway.interactive.launch import Plan, serve

    plan = Plan(
        upstream=upstream,
        project=project,
        host=host,
        port=port,
        admin_key=admin_key,
        guards=None if guards is None else [n.strip() for n in guards.split(",") if n.strip()],
        log_only=log_only,
        log=log.absolute() if log else None,
    )
    if not detach:
        serve(plan, lambda state, gateway: _announce(asdict(state), plan, as_json))
        return 0
    said = in_background(
        lambda ready: serve(plan, lambda state, gateway: ready(orjson.dumps(asdict(state))))
    )
    if said is None:
        return 2
    _announce(orjson.loads(said), plan, as_json)
    return 0


@command.command("ls", epilog="Example: ha gateway ls --json | jq '.gateways[].origin'")
@json_option
def ls(as_json: bool) -> None:
    """List the gateways that run on this machine."""
    from harness_adapters.gateway.interactive.running import running

    found = running()
    if as_json:
        print_json({"gateways": [_public(one) for one in found]})
        return
    if not found:
        stderr().print("no gateway is running; start one with: ha gateway start UPSTREAM")
        return
    from rich.console import Console
    from rich.table import Table

    table = Table("id", "address", "upstream", "project", "pid", box=None)
    for one in found:
        table.add_row(one.id, one.origin, one.upstream, one.project, str(one.pid))
    Console(highlight=False).print(table)


@command.command("stop", epilog="Example: ha gateway stop")
@click.argument("id", required=False)
@click.option("--all", "every", is_flag=True, help="All that run.")
@json_option
def stop(id: str | None, every: bool, as_json: bool) -> None:
    """End a running gateway: the one with this ID, or the only one."""
    from harness_adapters.gateway.interactive.running import is_running, running

    chosen = running() if every else [_choose(id)]
    for one in chosen:
        _ask(one, "POST", "/admin/stop")
    deadline = time.monotonic() + STOP_SECONDS
    while any(is_running(one) for one in chosen):
        if time.monotonic() > deadline:
            raise HarnessAdaptersError(f"still running after {STOP_SECONDS:g} s")
        time.sleep(0.05)
    if as_json:
        print_json({"stopped": [one.id for one in chosen]})


@command.command("logs", epilog="Example: ha gateway logs | grep blocked")
@click.argument("id", required=False)
@json_option
def logs(id: str | None, as_json: bool) -> None:
    """Show what a running gateway blocked, flagged or let through on request."""
    verdicts = _ask(_choose(id), "GET", "/admin/verdicts")["verdicts"]
    if as_json:
        print_json({"verdicts": verdicts})
        return
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    table = Table("id", "time", "session", "outcome", "tool", "rules", "why", box=None)
    for column in table.columns:
        column.overflow = "fold"
    for row in verdicts:
        clock = time.strftime("%H:%M:%S", time.localtime(row["time"]))
        cells = (row["id"], clock, row["session"], row["outcome"], row["tool"])
        table.add_row(*map(escape, (*cells, ", ".join(row["rules"]), row["message"])))
    width = None if sys.stdout.isatty() else 200  # for grep: one line a verdict
    Console(highlight=False, width=width).print(table)


@command.command("allow", epilog="Example: ha gateway allow 3fa2c1 --always")
@click.argument("id")
@click.option("--always", is_flag=True, help="This same call is never blocked again.")
@json_option
def allow(id: str, always: bool, as_json: bool) -> None:
    """Let a blocked call through: once, when the agent tries it again, or always.

    ID stands in the notice of the blocked call. Only the same call of the same tool is allowed.
    """
    from harness_adapters.gateway.interactive.running import running

    found = running()
    if not found:
        raise BadInput("no gateway is running")
    for one in found:
        verdicts = _ask(one, "GET", "/admin/verdicts")["verdicts"]
        if all(row["id"] != id for row in verdicts):
            continue
        done = _ask(one, "POST", "/admin/allow", {"id": id, "always": always})
        if as_json:
            print_json(done)
        else:
            how = "always" if always else "once, when it comes again"
            stderr().print(f"allowed {how}: {done['tool']!r} past {', '.join(done['rules'])}")
        return
    raise BadInput(f"no running gateway knows a blocked call {id!r}; see: ha gateway logs")


def _announce(state: dict[str, Any], plan: Any, as_json: bool) -> None:
    from harness_adapters.gateway.interactive.allowances import GuardFile, project_file
    from harness_adapters.gateway.interactive.start_lines import start_lines

    path = project_file(Path(state["project"]))
    if as_json:
        shown = {name: value for name, value in state.items() if name != "admin_key"}
        print_json({**shown, "lines": start_lines(state["url"]), "guard_toml": str(path)})
        return
    console = stderr()

    def say(text: str) -> None:
        console.print(text, markup=False, soft_wrap=True)

    decisions = GuardFile(path).current()
    say(f"guarding {state['upstream']} at {state['origin']} (gateway {state['id']})")
    for harness, line in start_lines(state["url"]).items():
        say(f"\n{harness}:\n  " + line.replace("\n", "\n  "))
    say(f"\npermissions: {path}")
    if decisions.allowed:
        say(f"  {len(decisions.allowed)} calls are allowed there")
    if plan.log_only or decisions.log_only:
        say("log only: nothing is blocked")
    if not state["origin"].startswith(("http://127.", "http://localhost", "http://[::1]")):
        say("others on the network can see keys and conversations: this is plain HTTP")


def _choose(id: str | None) -> Running:
    from harness_adapters.gateway.interactive.running import running

    found = running()
    if not found:
        raise BadInput("no gateway is running")
    if id is None:
        if len(found) > 1:
            known = ", ".join(one.id for one in found)
            raise BadInput(f"several gateways are running, name one: {known}")
        return found[0]
    for one in found:
        if one.id == id:
            return one
    raise BadInput(f"no gateway {id!r} is running{did_you_mean(id, [one.id for one in found])}")


def _ask(one: Running, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
    from urllib.error import HTTPError, URLError
    from urllib.request import ProxyHandler, Request, build_opener

    request = Request(
        one.origin + path,
        method=method,
        data=None if body is None else orjson.dumps(body),
        headers={"Authorization": f"Bearer {one.admin_key}"},
    )
    try:
        with build_opener(ProxyHandler({})).open(request, timeout=STOP_SECONDS) as response:
            return orjson.loads(response.read())
    except HTTPError as error:
        with error:
            said = orjson.loads(error.read())
        raise BadInput(str(said["error"]["message"])) from None
    except (URLError, OSError, orjson.JSONDecodeError) as error:
        raise HarnessAdaptersError(f"gateway {one.id} does not answer: {error}") from error


def _public(one: Running) -> dict[str, Any]:
    return {name: value for name, value in asdict(one).items() if name != "admin_key"}
