"""``ha engine``: a model server on its own."""

from __future__ import annotations

from pathlib import Path

import click

from harness_adapters.cli.output import json_option, print_json
from harness_adapters.errors import BadInput


@click.group("engine")
def command() -> None:
    """Serve a model server on its own."""


@command.command(
    "scripted",
    epilog="""\b
Examples:
  ha engine scripted oracle --tasks examples/tasks --port 8000
  ha engine scripted cheat:conftest --tasks examples/tasks
  ha engine scripted --list""",
)
@click.argument("play", default="oracle")
@click.option(
    "--tasks",
    "roots",
    type=click.Path(path_type=Path),
    multiple=True,
    metavar="DIR",
    help="Folder of tasks to play; may be given more than once.",
)
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="By default any free one.")
@click.option("--model", default="scripted", show_default=True, help="Model name to list.")
@click.option("--strict", is_flag=True, help="Refuse what vLLM refuses and laxer engines let pass.")
@click.option("--list", "listing", is_flag=True, help="List plays and cheat classes, then end.")
@json_option
def scripted(
    play: str,
    roots: tuple[Path, ...],
    port: int,
    model: str,
    strict: bool,
    listing: bool,
    as_json: bool,
) -> None:
    """Serve the scripted engine: a model that plays PLAY on the given tasks.

    It finds the task by its instruction in the conversation, speaks chat completions, responses
    and messages, and returns token ids and logprobs of a real tokenizer. The first line of stdout
    is JSON with url, port and the number of tasks. It ends on Ctrl-C.
    """
    from harness_adapters.serve.scripted.plays import parse_play

    if listing:
        _list(as_json)
        return
    parsed = parse_play(play)
    if not roots:
        raise BadInput("--tasks DIR is needed: without tasks there is nothing to play")
    from harness_adapters.serve.scripted.server import serve

    serve(parsed, roots, port=port, model=model, strict=strict)


def _list(as_json: bool) -> None:
    from harness_adapters.serve.scripted.cheats import CHEATS
    from harness_adapters.serve.scripted.plays import BY_MODEL, GARBAGE, PLAYS

    if as_json:
        cheats = [{"name": c.name, "kinds": c.kinds, "summary": c.summary} for c in CHEATS]
        print_json({"plays": PLAYS, "cheats": cheats, "garbage": list(GARBAGE)})
        return
    from rich.console import Console
    from rich.table import Table

    table = Table("play", "kinds", "what it does", box=None)
    for name, summary in PLAYS.items():
        table.add_row(name, "any", summary)
    for cheat in CHEATS:
        table.add_row(f"cheat:{cheat.name}", ", ".join(cheat.kinds), cheat.summary)
    for name in GARBAGE:
        table.add_row(f"garbage:{name}", "any", "only this sort of broken call")
    table.add_row(BY_MODEL, "any", "the play that the model's name says")
    Console(highlight=False).print(table)
