"""``ha engine``: a model server on its own."""

from __future__ import annotations

from pathlib import Path

import click

from harness_adapters.cli.output import json_option, print_json
from harness_adapters.errors import BadInput


@click.group("engine")
def command() -> None:
    """Serve a model server on its own."""


_port = click.option(
    "--port", type=click.IntRange(0, 65535), default=0, help="By default any free one."
)


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
@_port
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


_name = click.option("--name", help="What the base model is called; by default its folder's name.")
_adapters = click.option(
    "--adapters",
    type=click.IntRange(1),
    default=8,
    show_default=True,
    help="Adapters loaded at once.",
)
_rank = click.option(
    "--rank", type=click.IntRange(1), default=64, show_default=True, help="Greatest LoRA rank."
)
_requests = click.option(
    "--requests",
    type=click.IntRange(1),
    default=48,
    show_default=True,
    help="Requests that run at once; more wait.",
)
_context = click.option(
    "--context", type=click.IntRange(1), help="Most tokens of a sequence; by default the model's."
)


@command.command(
    "embedded",
    epilog="""\b
Examples:
  ha engine embedded ./my-model --port 8000
  ha engine embedded ./my-model --adapters 24 --rank 32
  ha run examples/tasks --harness pi --engine embedded:./my-model    # starts one of its own""",
)
@click.argument("model")
@_port
@_name
@_adapters
@_rank
@_requests
@_context
@click.option(
    "--memory",
    type=click.FloatRange(0, min_open=True),
    default=2.0,
    show_default=True,
    help="GiB for what is remembered of sequences.",
)
@click.option(
    "--threads",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    help="Of one matrix product; more only help models of 100M parameters and up.",
)
def embedded(
    model: str,
    port: int,
    name: str | None,
    adapters: int,
    rank: int,
    requests: int,
    context: int | None,
    memory: float,
    threads: int,
) -> None:
    """Serve MODEL, a folder, by transformers on this machine's CPU, with LoRA adapters.

    Answers a subset of vLLM's API: chat and plain completions with token ids and log
    probabilities, loading and unloading adapters. Stdout is JSON lines: progress, then url, port
    and versions. It ends on Ctrl-C.
    """
    from harness_adapters.serve.embedded.server import Options, serve
    from harness_adapters.serve.model_folder import served_name

    options = Options(
        model=model,
        name=name or served_name(model),
        context=context,
        slots=requests,
        adapters=adapters,
        rank=rank,
        memory=int(memory * 2**30),
        threads=threads,
    )
    serve(options, port=port)


@command.command(
    "vllm",
    epilog="""\b
Examples:
  ha engine vllm ./my-model --port 8000 --adapters 24 --rank 32
  ha engine vllm Qwen/Qwen3-0.6B -- --dtype float32 --gpu-memory-utilization 0.8
  HA_VLLM_PYTHON=~/vllm/bin/python ha engine vllm ./my-model""",
)
@click.argument("model")
@_port
@_name
@_adapters
@_rank
@_requests
@_context
@click.argument("flags", nargs=-1)
def vllm(
    model: str,
    port: int,
    name: str | None,
    adapters: int,
    rank: int,
    requests: int,
    context: int | None,
    flags: tuple[str, ...],
) -> None:
    """Serve MODEL by vLLM, with the flags that adapters, tool calls and exact tokens need.

    FLAGS after -- are vLLM's own. vLLM is looked for in the environment of HA_VLLM_PYTHON, in
    .venv-vllm (scripts/setup_vllm makes one), and in this one. Stdout is JSON lines: progress,
    then url, port and flags. It ends on Ctrl-C, with all processes of vLLM.
    """
    from harness_adapters.serve.model_folder import check_folder, served_name
    from harness_adapters.serve.vllm.flags import Options
    from harness_adapters.serve.vllm.supervise import supervise

    check_folder(model)
    options = Options(
        model=model,
        name=name or served_name(model),
        port=port,
        adapters=adapters,
        rank=rank,
        requests=requests,
        context=context,
        more=flags,
    )
    supervise(options)


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
