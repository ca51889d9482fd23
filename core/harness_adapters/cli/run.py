"""``ha run``: a thin shell over ``harness_adapters.run``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from harness_adapters.cli.output import json_option, print_json, stderr
from harness_adapters.cli.rollout_options import arguments, rollout_options
from harness_adapters.errors import BadInput


@click.command(
    "run",
    epilog="""\b
Examples:
  ha run examples/tasks --harness pi --engine scripted:oracle --out runs/first
  ha run examples/tasks --engine http://127.0.0.1:8000 --model my-adapter --attempts 8
  ha run examples/tasks --kind qa --split test --out runs/first --resume
  ha run examples/tasks --harness opencode --harness-path ~/.opencode/bin/opencode""",
)
@click.argument("tasks", type=click.Path(path_type=Path))
@click.option("--harness", default="pi", show_default=True, help="Harness driver to use.")
@click.option(
    "--harness-path",
    metavar="PATH",
    help="Use the harness installed there; by default a pinned release from the cache.",
)
@click.option(
    "--engine",
    default="scripted:oracle",
    show_default=True,
    help="Model server: URL, scripted:PLAY, embedded:MODEL or vllm:MODEL.",
)
@click.option("--model", help="Model or adapter name on the engine; by default its first.")
@click.option("--out", type=click.Path(path_type=Path), help="Run folder; by default runs/TIME.")
@rollout_options
@click.option("--log-only", is_flag=True, help="Judge and record every call, block none.")
@json_option
def command(
    tasks: Path,
    harness: str,
    harness_path: str | None,
    engine: str,
    model: str | None,
    as_json: bool,
    **given: Any,
) -> int:
    """Run TASKS in a real harness, guarded, verified and recorded."""
    from harness_adapters.cli.progress import RunProgress
    from harness_adapters.runs import RunInterrupted, RunStopped, run

    if given["resume"] and given["out"] is None:
        raise BadInput("--resume needs --out: the run folder to go on with")
    call = arguments(given)
    if harness_path is not None:
        call["options"]["harness"] = {harness: {"path": harness_path}}
    console = stderr()
    code = 0
    try:
        with RunProgress(console) as progress:
            result = run(
                tasks,
                harness=harness,
                engine=engine,
                model=model,
                progress=progress.update,
                **call,
            )
    except RunInterrupted as stop:
        result, code = stop.result, 130
        console.print("interrupted; what finished is recorded, go on with --resume")
    except RunStopped as stop:
        console.print(f"ha: stopped: {stop}", markup=False, soft_wrap=True)
        result, code = stop.result, 1
    for problem in result.problems:
        console.print(f"ha: {problem}", markup=False, soft_wrap=True)
    summary = result.summary
    if as_json:
        print_json(summary)
    elif (result.out / "manifest.json").exists():
        from harness_adapters.cli.show import print_run

        print_run(result.out)
    trouble = summary["infra"] or summary["broken"] or summary["finished"] < summary["planned"]
    return code or int(bool(trouble))
