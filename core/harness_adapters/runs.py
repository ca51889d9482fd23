"""Many rollouts: ``ha.run(...)``, of which the command ``ha run`` is a thin shell."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from harness_adapters.chosen import choose_tasks
from harness_adapters.errors import BadInput, HarnessAdaptersError
from harness_adapters.execution import (
    ArmPlan,
    Execution,
    Interrupted,
    RunResult,
    Stopped,
)
from harness_adapters.parts import ComponentOptions, make_parts
from harness_adapters.plugins import Plugins
from harness_adapters.record.folder import check_run_folder
from harness_adapters.types import Rollout, Sampling, Task

__all__ = ["Progress", "RunInterrupted", "RunResult", "RunStopped", "run"]

Progress = Callable[[Rollout, int, int], None]
"""Called after each recorded rollout with it, the number done and the number planned."""


class RunStopped(HarnessAdaptersError):
    """A run ended before its plan was done; ``result`` holds what finished, which is on disk."""

    def __init__(self, message: str, result: RunResult) -> None:
        super().__init__(message)
        self.result = result


class RunInterrupted(KeyboardInterrupt):
    """Ctrl-C or SIGTERM ended a run; ``result`` holds what finished, which is on disk."""

    def __init__(self, result: RunResult) -> None:
        super().__init__("interrupted")
        self.result = result


def run(
    tasks: Path | str | Sequence[Task],
    *,
    harness: str = "pi",
    engine: str = "scripted:oracle",
    model: str | None = None,
    out: Path | str | None = None,
    attempts: int = 1,
    concurrency: int = 4,
    guards: Sequence[str] | None = None,
    rewards: Sequence[str] | None = None,
    options: ComponentOptions | None = None,
    log_only: bool = False,
    sandbox: str | None = None,
    kind: str | None = None,
    split: str | None = None,
    limit: int | None = None,
    session_seconds: float | None = None,
    max_requests: int | None = None,
    sampling: Sampling | None = None,
    infra_retries: int = 2,
    resume: bool = False,
    plugins: Plugins | None = None,
    progress: Progress | None = None,
) -> RunResult:
    """Run every selected task ``attempts`` times in a real harness, guarded and verified.

    :param tasks: a folder of task bundles, or tasks already loaded.
    :param engine: ``URL``, ``scripted:PLAY``, ``embedded:MODEL`` or ``vllm:MODEL``.
    :param model: the model's or adapter's name on that engine; by default the engine's first.
    :param out: the run folder; by default a new one below ``runs/``.
    :param guards: names; ``None`` for every built-in guard, empty for none at all.
    :param options: component options, as in a recipe: ``{"guards": {"tamper": {...}}}``.
    :param log_only: judge every call and record the findings, but block none.
    :param session_seconds: cap per session instead of the task's own.
    :param max_requests: model requests per session instead of the task's own cap.
    :raises BadInput: nothing was started; the message says what to do.
    :raises RunStopped: the engine died or a guard kept failing; finished rollouts are recorded.
    :raises RunInterrupted: Ctrl-C; finished rollouts are recorded.
    """
    plugins = plugins or Plugins.load()
    if attempts < 1 or concurrency < 1 or infra_retries < 0:
        raise BadInput("attempts and concurrency start at 1, infra retries at 0")
    out = Path(out) if out else Path("runs") / f"{time.strftime('%Y%m%d-%H%M%S')}-{_suffix()}"
    chosen = choose_tasks(
        plugins,
        tasks,
        kind=kind,
        split=split,
        limit=limit,
        session_seconds=session_seconds,
        max_requests=max_requests,
        sandbox=sandbox,
    )
    check_run_folder(out, resume=resume)
    parts = make_parts(
        plugins,
        harness=harness,
        kinds=chosen.kinds,
        guards=guards,
        rewards=rewards,
        options=options,
        log_only=log_only,
    )
    execution = Execution(
        chosen=chosen,
        arms=[ArmPlan(parts=parts, model=model, out=out)],
        plugins=plugins,
        engine=engine,
        attempts=attempts,
        concurrency=concurrency,
        sandbox=sandbox,
        sampling=sampling or Sampling(),
        infra_retries=infra_retries,
        resume=resume,
        progress=None if progress is None else lambda _, *rest: progress(*rest),
    )
    try:
        execution.run()
    except Interrupted:
        raise RunInterrupted(execution.results()[0]) from None
    except Stopped as stop:
        raise RunStopped(str(stop), execution.results()[0]) from None
    return execution.results()[0]


def _suffix() -> str:
    return secrets.token_hex(2)
