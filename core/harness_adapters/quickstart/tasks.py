"""The tasks of a quick start: to train on, and held out."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from harness_adapters.quickstart.questions import questions
from harness_adapters.tasks.questions import Question, write_bundles

TRAINED = 160
HELD_OUT = 40
HELD_OUT_SEED = 7


def write_tasks(
    folder: Path, *, seed: int, held_out: int = HELD_OUT, trained: int = TRAINED
) -> None:
    """Write task bundles into the new ``folder``: of splits ``train`` and ``test``.

    The held-out tasks, one for each of as many tables, are the same for every seed.

    :raises BadInput: the folder holds something already.
    """
    write_bundles(_questions(seed, held_out, trained), folder)


def _questions(seed: int, held_out: int, trained: int) -> Iterator[Question]:
    return chain(questions(seed, trained, "train"), questions(HELD_OUT_SEED, held_out, "test"))
