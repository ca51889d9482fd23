"""What an agent may touch: a task's own lists over its kind's defaults."""

from __future__ import annotations

from harness_adapters.types import Task, TaskPolicy


def task_policy(task: Task, *, protected: tuple[str, ...] = ()) -> TaskPolicy:
    """The task's own lists over a kind's default ``protected`` globs."""
    return TaskPolicy(
        workdir=task.workdir,
        kind=task.kind,
        editable=task.metadata.editable,
        protected=(*protected, *task.metadata.protected),
        allowed_hosts=task.metadata.allowed_hosts,
        answer_sources=task.metadata.answer_sources,
    )
