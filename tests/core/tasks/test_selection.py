from __future__ import annotations

from pathlib import Path

import pytest

from harness_adapters.errors import BadInput
from harness_adapters.tasks.selection import select
from harness_adapters.types import Task, TaskMetadata


def task(id: str, kind: str, split: str) -> Task:
    metadata = TaskMetadata(kind=kind, cluster=id, split=split)
    return Task(id=id, instruction="do it", path=Path(id), metadata=metadata)


TASKS = [task("a", "qa", "train"), task("b", "repair", "dev"), task("c", "qa", "dev")]


def test_kind_split_and_limit_narrow_in_order() -> None:
    assert [t.id for t in select(TASKS)] == ["a", "b", "c"]
    assert [t.id for t in select(TASKS, kind="qa")] == ["a", "c"]
    assert [t.id for t in select(TASKS, kind="qa", split="dev")] == ["c"]
    assert [t.id for t in select(TASKS, limit=2)] == ["a", "b"]
    assert [t.id for t in select(TASKS, limit=9)] == ["a", "b", "c"]


def test_an_empty_selection_says_what_there_is() -> None:
    with pytest.raises(BadInput) as caught:
        select(TASKS, kind="repiar")
    assert str(caught.value) == (
        "no task of kind 'repiar'; did you mean 'repair'? "
        "(there are: kinds qa 2, repair 1; splits dev 2, train 1)"
    )
    with pytest.raises(BadInput, match="kind 'repair' and split 'train'"):
        select(TASKS, kind="repair", split="train")
    with pytest.raises(BadInput, match="did you mean 'train'"):
        select(TASKS, split="trian")
    with pytest.raises(BadInput, match="kinds none"):
        select([])


def test_a_limit_below_one_is_refused() -> None:
    with pytest.raises(BadInput, match="at least 1, not 0"):
        select(TASKS, limit=0)
