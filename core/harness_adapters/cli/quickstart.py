"""``ha quickstart``: a thin shell over ``harness_adapters.quickstart``."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from harness_adapters.cli.output import json_option, print_json, printable, stderr
from harness_adapters.errors import BadInput


@click.command(
    "quickstart",
    epilog="""\b
Examples:
  ha quickstart
  ha quickstart --minutes 20 --seed 1 --out runs/learns
  ha quickstart --harness pi,opencode,hermes --minutes 30
  ha quickstart --policy smollm2 --minutes 60
  ha quickstart --out runs/learns --resume""",
)
@click.option(
    "--out", type=click.Path(path_type=Path), help="A new folder; by default runs/quickstart-TIME."
)
@click.option(
    "--minutes",
    type=click.FloatRange(1, 1440),
    default=10.0,
    show_default=True,
    help="Of training and comparing, after set-up.",
)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True)
@click.option(
    "--harness", default="pi", show_default=True, metavar="H,H2", help="One adapter each."
)
@click.option(
    "--policy",
    default="tiny",
    show_default=True,
    metavar="NAME",
    help="tiny, or smollm2: a pretrained model of 135M parameters, in pi on vLLM; slower.",
)
@click.option(
    "--engine",
    metavar="NAME",
    help="What serves the policy: embedded (by default tiny) or vllm (by default smollm2).",
)
@click.option(
    "--recipe",
    type=click.Path(path_type=Path),
    help="Instead of the policy's shipped one; its model, tasks, steps and seed are replaced.",
)
@click.option("--sandbox", help="bubblewrap, docker or process; by default bubblewrap.")
@click.option("--resume", is_flag=True, help="Go on with what --out holds.")
@json_option
def command(
    out: Path | None,
    minutes: float,
    seed: int,
    harness: str,
    policy: str,
    engine: str | None,
    recipe: Path | None,
    sandbox: str | None,
    resume: bool,
    as_json: bool,
) -> int:
    """Train a small policy in a real harness on this machine, and see whether it learned.

    The policy solves small data tasks, with more tool calls than they need. An adapter is trained
    with the published reward, then compared with its base on tables that neither has seen.
    Writes the adapter, the comparison and an HTML report below OUT.
    """
    if resume and out is None:
        raise BadInput("--resume needs --out: the folder to go on with")
    from harness_adapters.quickstart.learning import Progress, quickstart
    from harness_adapters.quickstart.report import write_report
    from harness_adapters.train.recipe import load_recipe
    from harness_adapters.train.training import TrainingInterrupted

    root = out or Path("runs") / time.strftime("quickstart-%Y%m%d-%H%M%S")
    lines = _Lines()
    try:
        learned = quickstart(
            root,
            minutes=minutes,
            seed=seed,
            harnesses=harness.split(","),
            policy=policy,
            engine=engine,
            recipe=None if recipe is None else load_recipe(recipe),
            resume=resume,
            sandbox=sandbox,
            progress=Progress(say=lines.say, step=lines.step, rollout=lines.rollout),
        )
    except (TrainingInterrupted, KeyboardInterrupt):
        lines.say(f"interrupted; go on with: ha quickstart --out {root} --resume")
        return 130
    report = write_report(learned, root / "report.html")
    results = [{**one.to_json(), "report": str(report)} for one in learned]
    for result in results:
        print("\n".join(_table(result)))
    print(f"report   {report}")
    if as_json:
        single: Any = results[0] if len(results) == 1 else {"harnesses": results}
        print_json(single)
    trouble = [line for one in learned for line in one.comparison.trouble]
    for line in trouble:
        lines.say(line)
    return int(bool(trouble))


class _Lines:
    """Progress as lines on stderr."""

    def __init__(self) -> None:
        self._console = stderr()
        self._start = time.monotonic()

    def say(self, text: str) -> None:
        minutes, seconds = divmod(int(time.monotonic() - self._start), 60)
        line = printable(f"{minutes:3}:{seconds:02}  {text}")
        self._console.print(line, markup=False, soft_wrap=True)

    def step(self, harness: str, number: int, metrics: Mapping[str, float]) -> None:
        known = {
            "reward": "sessions/reward",
            "solved": "sessions/solved",
            "calls": "sessions/calls",
            "staleness": "staleness/trained",
        }
        told = [f"{name} {metrics[key]:.2f}" for name, key in known.items() if key in metrics]
        self.say(f"{harness}  step {number}  " + "  ".join(told))

    def rollout(self, arm: str, rollout: Any, done: int, planned: int) -> None:
        self.say(
            f"[{done}/{planned}] {arm}  {rollout.task_id}  {rollout.outcome}  "
            f"{rollout.calls} calls  {rollout.seconds:.1f} s"
        )


def _table(result: Mapping[str, Any]) -> list[str]:
    """The paired comparison, as a person reads it."""
    base, adapter = result["base"], result["adapter"]
    return [
        f"{result['harness']}, after {result['steps']} steps",
        "            base  adapter   change [95% interval]",
        f"  solved  {base['pass1']:6.1%}  {adapter['pass1']:7.1%}   "
        + _interval(result["diff_pass1"], scale=100, unit=" points", sign="+"),
        f"  calls   {base['calls']:6.2f}  {adapter['calls']:7.2f}   x "
        + _interval(result["calls_ratio"])
        + " on tasks that both solved",
        *(f"  differs from the published recipe: {line}" for line in result["deviations"]),
        f"adapter  {result['adapter_dir']}",
    ]


def _interval(
    value: Mapping[str, Any], *, scale: float = 1.0, unit: str = "", sign: str = ""
) -> str:
    if value["est"] is None:
        return "unknown"
    digits = f"{sign}.1f" if scale != 1 else f"{sign}.2f"
    shown = [
        "-" if value[name] is None else format(scale * value[name], digits)
        for name in ("est", "lo", "hi")
    ]
    return f"{shown[0]}{unit} [{shown[1]}, {shown[2]}]"
