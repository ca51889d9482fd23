"""``ha train``: a thin shell over ``harness_adapters.train``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from harness_adapters.cli.output import json_option, print_json, printable, stderr


@click.command(
    "train",
    epilog="""\b
Examples:
  ha train cpu --engine embedded --out runs/first
  ha train pi.toml opencode.toml hermes.toml --engine vllm --out runs/three
  ha train recipe.toml --engine http://127.0.0.1:8000 --steps 3
  ha train --resume runs/first""",
)
@click.argument("recipes", nargs=-1, required=True, metavar="RECIPE...")
@click.option(
    "--engine",
    multiple=True,
    help="embedded[:MODEL], vllm[:MODEL], or the URL of one that runs (several: its replicas).",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="Run folder; of several recipes the folder of their runs. By default runs/TIME.",
)
@click.option("--resume", is_flag=True, help="Go on with run folders, or with what --out holds.")
@click.option("--steps", type=click.IntRange(1), metavar="N", help="Instead of the recipe's own.")
@click.option("--sandbox", help="bubblewrap, docker or process; by default bubblewrap.")
@json_option
def command(
    recipes: tuple[str, ...],
    engine: tuple[str, ...],
    out: Path | None,
    resume: bool,
    steps: int | None,
    sandbox: str | None,
    as_json: bool,
) -> int:
    """Train one adapter per RECIPE (a file, or the name of a shipped one), all at once on one
    engine."""
    from harness_adapters.train.training import TrainingInterrupted, train

    console = stderr()

    def show(run: Path, event: dict[str, Any]) -> None:
        console.print(printable(f"{run.name}  {_line(event)}"), markup=False, soft_wrap=True)

    try:
        training = train(
            recipes,
            engine=engine or None,
            out=out,
            steps=steps,
            resume=resume,
            sandbox=sandbox,
            progress=show,
        )
    except TrainingInterrupted:
        console.print("interrupted; go on with --resume")
        if as_json:
            print_json({"runs": [], "failures": {}, "interrupted": True})
        return 130
    for run, why in training.failures.items():
        console.print(f"ha: {run}: stopped: {why}", markup=False, soft_wrap=True)
    if as_json:
        failures = {str(run): why for run, why in training.failures.items()}
        print_json({"runs": list(training.runs), "failures": failures})
    else:
        for one in training.runs:
            print(f"{one['adapter']}\n  {one['path']}")
    return int(bool(training.failures))


def _line(event: dict[str, Any]) -> str:
    match event["event"]:
        case "started":
            return f"run {event['run']}"
        case "published":
            return f"serving {event['adapter']}"
        case "step":
            return step_line(event["step"], event["metrics"])
        case "evaluated":
            return evaluation_line(event)
        case "done":
            return f"done after {event['steps']} steps: {event['adapter']}"
        case _:
            return f"stopped: {event['message']}"


def evaluation_line(record: dict[str, Any]) -> str:
    """One evaluation on the development tasks, for a person."""
    words = f"step {record['step']} on development tasks: {record['solved']} of "
    words += f"{record['finished']} solved"
    if record["finished"]:
        words += f"  reward {record['mean_reward']:.3f}  calls {record['mean_calls']:.1f}"
    missing = record["planned"] - record["finished"]
    return words + (f"  ({missing} could not be scored)" if missing else "")


SHOWN = (
    ("reward", "sessions/reward", "{:.3f}"),
    ("solved", "sessions/solved", "{:.0%}"),
    ("blocked", "sessions/blocked", "{:.0%}"),
    ("calls", "sessions/calls", "{:.1f}"),
    ("loss", "loss", "{:+.4f}"),
    ("ratio", "ratio", "{:.4f}"),
    ("kl", "kl", "{:.5f}"),
    ("staleness", "staleness/trained", "{:.2f}"),
)


def step_line(step: int, metrics: dict[str, Any]) -> str:
    """One step for a person; what was not measured in it is left out."""
    words = [
        f"{name} {form.format(value)}"
        for name, key, form in SHOWN
        if isinstance(value := metrics.get(key), int | float)
    ]
    return f"step {step}  " + "  ".join(words)
