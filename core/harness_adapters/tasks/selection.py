"""Choosing among the tasks of a set."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from harness_adapters.errors import BadInput, did_you_mean
from harness_adapters.types import Task


def select(
    tasks: Sequence[Task],
    *,
    kind: str | None = None,
    split: str | None = None,
    limit: int | None = None,
) -> list[Task]:
    """The tasks of one kind and split, in the given order, at most ``limit``.

    :raises BadInput: nothing is left; the message says what there is.
    """
    if limit is not None and limit < 1:
        raise BadInput(f"limit must be at least 1, not {limit}")
    chosen = [
        task
        for task in tasks
        if (kind is None or task.kind == kind) and (split is None or task.metadata.split == split)
    ]
    if not chosen:
        raise BadInput(_nothing(tasks, kind, split))
    return chosen[:limit]


def _nothing(tasks: Sequence[Task], kind: str | None, split: str | None) -> str:
    kinds = Counter(task.kind for task in tasks)
    splits = Counter(task.metadata.split for task in tasks)
    asked = [f"kind {kind!r}"] * (kind is not None) + [f"split {split!r}"] * (split is not None)
    hint = ""
    if kind is not None and kind not in kinds:
        hint = did_you_mean(kind, kinds)
    elif split is not None and split not in splits:
        hint = did_you_mean(split, splits)
    what = f"no task of {' and '.join(asked)}{hint}" if asked else "no task"
    return f"{what} (there are: kinds {_counts(kinds)}; splits {_counts(splits)})"


def _counts(counter: Counter[str]) -> str:
    return (
        ", ".join(f"{name or 'self-graded'} {n}" for name, n in sorted(counter.items())) or "none"
    )
