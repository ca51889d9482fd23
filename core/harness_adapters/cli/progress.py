"""A progress bar for long runs; plain lines where stderr is no terminal."""

from __future__ import annotations

from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from harness_adapters.cli.output import printable
from harness_adapters.types import Rollout


class RunProgress:
    """Shows each finished rollout. Use as a context manager; ``update`` is a run's ``progress``,
    and with ``arm`` an evaluation's."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=console,
            disable=not console.is_terminal,
            transient=True,
        )
        self._task = self._bar.add_task("rollouts", total=None)

    def __enter__(self) -> RunProgress:
        self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._bar.stop()

    def update(self, rollout: Rollout, done: int, planned: int, *, arm: str = "") -> None:
        reward = "-" if rollout.reward is None else f"{rollout.reward:.3f}"
        line = (
            f"[{done}/{planned}] {arm and f'{arm}  '}{rollout.task_id} #{rollout.attempt}  "
            f"{rollout.outcome}  reward {reward}  {rollout.calls} calls  {rollout.seconds:.1f} s"
        )
        if rollout.error:
            line += f"  ({rollout.error})"
        self._console.print(printable(line), markup=False, soft_wrap=True)
        self._bar.update(self._task, completed=done, total=planned)
