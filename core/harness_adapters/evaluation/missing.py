"""Data that are not there, by arm: said aloud, never taken for failures."""

from __future__ import annotations

from typing import Any

from harness_adapters.evaluation.arms import Arm
from harness_adapters.evaluation.proportions import wilson

# Above this share the missing attempts can matter more than the sampling error that is reported.
HEAVY = 0.05


def account(arm: Arm) -> dict[str, Any]:
    """Planned, finished and unscorable attempts; the interval is Wilson's. ``attempts`` is what was
    counted per task, never what was asked for: it is the k of any avg@k."""
    attempts = arm.attempts_per_task()
    lo, hi = wilson(arm.unscorable, arm.planned)
    return {
        "tasks": len(arm.manifest.tasks),
        "tasks_finished": len(arm.results),
        "planned": arm.planned,
        "finished": arm.finished,
        "unscorable": arm.unscorable,
        "not_run": arm.not_run,
        "unscorable_share": arm.unscorable / arm.planned if arm.planned else None,
        "unscorable_lo": lo,
        "unscorable_hi": hi,
        "attempts": {
            "planned": arm.manifest.attempts,
            "fewest": attempts[0] if attempts else 0,
            "most": attempts[1] if attempts else 0,
        },
    }


def bounds(base: Arm, run: Arm) -> tuple[float, float] | None:
    """The difference of pass@1 over all planned tasks if every missing attempt had gone against the
    run, and if every one had gone for it (Manski 1990, Am. Econ. Rev. 80). ``None`` without tasks.
    """
    tasks = list(base.manifest.tasks)
    if not tasks:
        return None
    lowest = sum(_share(run, task, 0) - _share(base, task, 1) for task in tasks)
    highest = sum(_share(run, task, 1) - _share(base, task, 0) for task in tasks)
    return lowest / len(tasks), highest / len(tasks)


def _share(arm: Arm, task_id: str, missing_as: int) -> float:
    result = arm.results.get(task_id)
    planned = arm.manifest.attempts
    missing = planned - arm.counted(task_id)
    return ((result.solved if result else 0) + missing_as * missing) / planned
