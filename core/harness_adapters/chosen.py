"""From a folder of bundles to the tasks of a run, with their caps and kinds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from harness_adapters.errors import BadInput, BrokenTask, first_of
from harness_adapters.parts import check_tasks, make_kinds
from harness_adapters.plugins import Plugins
from harness_adapters.protocols import TaskKind
from harness_adapters.sandbox.providers import runs_images
from harness_adapters.tasks.bundle import load_tasks
from harness_adapters.tasks.images import without_images
from harness_adapters.tasks.selection import select
from harness_adapters.types import Limits, Task


@dataclass(frozen=True, kw_only=True)
class Chosen:
    """The tasks of a run with their caps, the kinds they use, and the tasks that are broken."""

    tasks: list[Task]
    kinds: dict[str, TaskKind]
    broken: list[BrokenTask]


def choose_tasks(
    plugins: Plugins,
    tasks: Path | str | Sequence[Task],
    *,
    kind: str | None = None,
    split: str | None = None,
    limit: int | None = None,
    session_seconds: float | None = None,
    max_requests: int | None = None,
    sandbox: str | None = None,
) -> Chosen:
    """Load, check and select tasks, with these caps instead of their own where given.

    :param sandbox: where they are to run; those that cannot run there are broken.
    :raises BadInput: none is readable, or none is selected.
    """
    broken: list[BrokenTask] = []
    if isinstance(tasks, str | Path):
        loaded, unreadable = load_tasks(Path(tasks))
        broken += unreadable
    else:
        loaded = list(tasks)
    kinds = make_kinds(plugins, {task.kind for task in loaded})
    good, unfit = check_tasks(plugins, kinds, loaded)
    broken += unfit
    if not runs_images(sandbox):
        good, unfit = without_images(good)
        broken += unfit
    if not good and broken:
        raise BadInput(f"no readable task: {first_of(broken)}")
    selected = [
        _capped(task, session_seconds, max_requests)
        for task in select(good, kind=kind, split=split, limit=limit)
    ]
    used = {task.kind for task in selected}
    return Chosen(
        tasks=selected,
        kinds={name: made for name, made in kinds.items() if name in used},
        broken=broken,
    )


def _capped(task: Task, session_seconds: float | None, max_requests: int | None) -> Task:
    own: Limits = task.limits
    return replace(
        task,
        limits=replace(
            own,
            session_seconds=own.session_seconds if session_seconds is None else session_seconds,
            max_requests=own.max_requests if max_requests is None else max_requests,
        ),
    )
