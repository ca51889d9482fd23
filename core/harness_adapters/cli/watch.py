"""``ha watch``: a training run in the terminal, while it goes on or afterwards."""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness_adapters.cli.output import json_option, print_json, printable

if TYPE_CHECKING:
    from rich.console import RenderableType

LOOK_SECONDS = 1.0
STEPS_SHOWN = 15
BLOCKED_SHOWN = 8
EVALUATIONS_SHOWN = 3


@click.command(
    "watch",
    epilog="""\b
Examples:
  ha watch runs/first
  ha watch runs/first --once
  ha watch runs/first --json""",
)
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--once", is_flag=True, help="Show it once and end.")
@json_option
def command(run: Path, once: bool, as_json: bool) -> int:
    """Show the training run RUN: its steps, its groups and what the guard blocked.

    Ends when the run does, or with Ctrl-C; the run goes on.
    """
    from rich.console import Console
    from rich.live import Live

    from harness_adapters.train.folder import read_training

    manifest = read_training(run)
    view = View(run)
    view.look()
    if as_json:
        print_json(view.to_json())
        return 0
    title = f"{manifest.recipe.model_slug} in {manifest.recipe.harness} · run {manifest.run}"
    console = Console(highlight=False)
    planned = manifest.recipe.steps
    if once or not console.is_terminal:
        console.print(view.render(title, planned))
        return 0
    with Live(view.render(title, planned), console=console, auto_refresh=False) as live:
        while view.step < planned:
            time.sleep(LOOK_SECONDS)
            view.look()
            live.update(view.render(title, planned), refresh=True)
    return 0


@dataclass
class View:
    """What is known of a run by now; each look reads only what was written since the last."""

    run: Path
    step: int = 0
    steps: deque[dict[str, Any]] = field(default_factory=lambda: deque(maxlen=STEPS_SHOWN))
    fates: dict[int, str] = field(default_factory=dict[int, str])
    evaluations: dict[int, dict[str, Any]] = field(default_factory=dict[int, dict[str, Any]])
    blocked: deque[dict[str, Any]] = field(default_factory=lambda: deque(maxlen=BLOCKED_SHOWN))
    blocked_by_rule: Counter[str] = field(default_factory=Counter[str])
    _read_to: dict[str, int] = field(default_factory=dict[str, int])

    def look(self) -> None:
        for record in self._new("steps.log"):
            while self.steps and self.steps[-1]["step"] >= record["step"]:
                self.steps.pop()  # trained again after a crash
            self.steps.append(record)
            self.step = record["step"]
        for record in self._new("evaluations.log"):
            self.evaluations[record["step"]] = record
        for record in self._new("groups.log"):
            self.fates[record["group"]] = record["fate"]
            for call in record.get("blocked", ()):
                self.blocked.append(call)
                self.blocked_by_rule.update(call["rules"])

    def to_json(self) -> dict[str, Any]:
        last = self.steps[-1] if self.steps else None
        return {
            "step": self.step,
            "trained": last and last["trained"],
            "metrics": last and last["metrics"],
            "evaluations": [self.evaluations[step] for step in sorted(self.evaluations)],
            "groups": dict(sorted(Counter(self.fates.values()).items())),
            "blocked_by_rule": dict(sorted(self.blocked_by_rule.items())),
            "last_blocked": list(self.blocked),
        }

    def render(self, title: str, planned: int) -> RenderableType:
        from rich.console import Group
        from rich.table import Table
        from rich.text import Text

        from harness_adapters.cli.train import SHOWN, evaluation_line

        table = Table("step", *(name for name, _, _ in SHOWN), box=None)
        for record in self.steps:
            values = [
                form.format(value)
                if isinstance(value := record["metrics"].get(key), int | float)
                else "-"
                for _, key, form in SHOWN
            ]
            table.add_row(str(record["step"]), *values)
        groups = Counter(self.fates.values())
        counted = ", ".join(f"{number} {fate}" for fate, number in sorted(groups.items()))
        lines: list[RenderableType] = [
            Text(f"{title} · step {self.step} of {planned}", style="bold"),
            table,
            Text(f"groups: {counted or 'none decided yet'}"),
        ]
        for step in sorted(self.evaluations)[-EVALUATIONS_SHOWN:]:
            lines.append(Text(evaluation_line(self.evaluations[step])))
        rules = ", ".join(f"{number} {rule}" for rule, number in self.blocked_by_rule.most_common())
        if rules:
            lines.append(Text(printable(f"blocked: {rules}"), style="red"))
        for call in self.blocked:
            what = f"  {call['task_id']} #{call['attempt']}  {call['tool']}  "
            lines.append(Text(printable(what + ", ".join(call["rules"]))))
        return Group(*lines)

    def _new(self, name: str) -> Iterator[dict[str, Any]]:
        from harness_adapters.record import log

        start = self._read_to.get(name, 0)
        for end, record in log.read_from(self.run / name, start):
            self._read_to[name] = end
            yield record
