"""The tasks of a quick start: to train on, and held out."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from harness_adapters.quickstart.questions import BOUND, questions
from harness_adapters.tasks.questions import Question, write_bundles

KINDS = (BOUND, "aggregate", BOUND, "grouping", BOUND, "filter", BOUND, BOUND)
"""So many with a bound that the policy solves some three of four: there is something to learn
beside fewer calls, and something to lose."""
TRAINED = 160
HELD_OUT = 80
FEWEST_HELD_OUT = 40
HELD_OUT_SEED = 7


def held_out_for(harnesses: int) -> int:
    """How many held-out tasks to compare on: fewer for each of several harnesses."""
    return max(FEWEST_HELD_OUT, HELD_OUT // harnesses)


def held_out_questions(count: int = HELD_OUT) -> Iterator[Question]:
    """About one table each, and the same for every seed of a quick start."""
    return questions(HELD_OUT_SEED, count, "test", KINDS)


def write_tasks(
    folder: Path, *, seed: int, held_out: int = HELD_OUT, trained: int = TRAINED
) -> None:
    """Write task bundles into the new ``folder``: of splits ``train`` and ``test``.

    :raises BadInput: the folder holds something already.
    """
    to_train_on = questions(seed, trained, "train", KINDS)
    write_bundles(chain(to_train_on, held_out_questions(held_out)), folder)
