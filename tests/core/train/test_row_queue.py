from __future__ import annotations

import queue
import threading
from dataclasses import replace

import pytest
from training import rollout

from harness_adapters.train.groups import Scored, Scoring, TrainRow
from harness_adapters.train.row_queue import RowQueue

SCORING = Scoring(min_group=2, std_floor=0.05, scale="group", longest=100)


def group(index: int, step: int = 0) -> Scored:
    pair = [rollout(attempt=a, model="m", reward=float(a)) for a in range(2)]
    return SCORING.score(index, pair, {"m": step})


class Queue:
    def __init__(self) -> None:
        self.oldest = 0
        self.left: list[tuple[int, int]] = []
        self.rows = RowQueue(
            convert=lambda row, since: row,
            too_old=lambda step: step < self.oldest,
            emptied=lambda scored, dropped: self.left.append((scored.index, dropped)),
        )

    def take(self) -> TrainRow:
        row = self.rows.get(timeout=0)
        assert isinstance(row, TrainRow)
        return row


def test_rows_come_in_order_and_a_group_leaves_with_its_last() -> None:
    made = Queue()
    made.rows.add(group(0))
    made.rows.add(group(1))
    assert made.rows.qsize() == 4
    assert [made.take().tag[:2] for _ in range(4)] == [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert made.left == [(0, 0), (1, 0)]
    with pytest.raises(queue.Empty):
        made.rows.get(timeout=0)


def test_what_became_too_old_while_it_waited_is_dropped_and_counted() -> None:
    made = Queue()
    made.rows.add(group(0, step=0))
    made.rows.add(group(1, step=3))
    assert made.take().tag.group == 0
    made.oldest = 1
    assert made.take().tag.group == 1
    assert made.left == [(0, 1)]


def test_age_is_that_of_the_oldest_member() -> None:
    mixed = [rollout(attempt=0, model="new", reward=0.0), rollout(attempt=1, model="old")]
    scored = SCORING.score(0, mixed, {"new": 5, "old": 2})
    assert (scored.step, {row.group_step for row in scored.rows}) == (2, {2})
    assert {row.step for row in scored.rows} == {2, 5}
    made = Queue()
    made.rows.add(scored)
    made.oldest = 3
    made.rows.drop_old()
    assert (made.rows.qsize(), made.left) == (0, [(0, 2)])


def test_a_waiting_trainer_gets_the_failure_at_once() -> None:
    made = Queue()
    seen: list[BaseException] = []

    def wait() -> None:
        try:
            made.rows.get(timeout=60)
        except RuntimeError as error:
            seen.append(error)

    waiting = threading.Thread(target=wait)
    waiting.start()
    made.rows.fail(RuntimeError("the engine is gone"))
    waiting.join(30)
    assert [str(error) for error in seen] == ["the engine is gone"]
    with pytest.raises(RuntimeError):
        made.rows.get(timeout=None)


def test_a_waiting_trainer_gets_the_row_that_comes() -> None:
    made = Queue()
    seen: list[TrainRow] = []
    waiting = threading.Thread(target=lambda: seen.append(made.rows.get(timeout=60)))
    waiting.start()
    made.rows.add(replace(group(7), rows=group(7).rows[:1]))
    waiting.join(30)
    assert [row.tag.group for row in seen] == [7]
