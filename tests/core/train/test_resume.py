"""Going on after a kill at any moment: nothing trained twice, nothing left out, nothing torn."""

from __future__ import annotations

import random
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from training import rollout, task

from harness_adapters.record import log
from harness_adapters.tasks.mixture import Mixture
from harness_adapters.train.folder import TrainingFolder, checkpoints, read_steps
from harness_adapters.train.groups import Fate, Scored, Scoring, Tag
from harness_adapters.train.resume import Course, Standing
from harness_adapters.types import Rollout

SCORING = Scoring(min_group=2, std_floor=0.05, scale="group", longest=100)
TASKS = 3
SIZE = 2
EPOCHS = 2


class Disk:
    """What survives a kill."""

    def __init__(self) -> None:
        self.fates: dict[int, dict[str, Any]] = {}
        self.rollouts: dict[tuple[str, int], Rollout] = {}
        self.steps: list[list[Tag]] = []
        self.checkpoint = 0

    def standing(self) -> Standing:
        return Standing(
            step=self.checkpoint,
            checkpoint=None,
            trained=frozenset(tag for step in self.steps[: self.checkpoint] for tag in step),
            fates=dict(self.fates),
            rollouts=dict(self.rollouts),
        )


class Killed(Exception):
    pass


class Process:
    """One life of a trainer, killed after so many things have happened to the disk."""

    def __init__(self, disk: Disk, lives: int, chance: random.Random) -> None:
        self.disk, self.left, self.chance = disk, lives, chance
        self.sessions: Counter[tuple[str, int]] = Counter()
        disk.steps = disk.steps[: disk.checkpoint]
        self.course = Course(
            mixture=Mixture(train=tuple(task(f"t{n}") for n in range(TASKS))),
            seed=7,
            group_size=SIZE,
            max_staleness=100,
            standing=disk.standing(),
            scoring=SCORING,
            steps={"m": 0},
        )

    def happen(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise Killed

    def run(self) -> None:
        queued: list[Scored] = list(self.course.waiting())
        visits = self.course.visits()
        while True:
            rows = [row for group in queued for row in group.rows]
            while len(rows) > 1:  # a step of two rows, which may come from two groups
                self.happen()
                self.disk.steps.append([row.tag for row in rows[:2]])
                self.happen()
                self.disk.checkpoint = len(self.disk.steps)
                rows = rows[2:]
            queued = [Scored(index=-1, task_id="", fate=Fate.READY, rows=tuple(rows))]
            visit = next(visits)
            if visit.index >= TASKS * EPOCHS:
                return
            finished = dict(visit.given)
            for attempt in range(visit.first_attempt, visit.first_attempt + SIZE):
                if attempt in finished:
                    continue
                self.happen()
                key = (visit.task.id, attempt)
                assert key not in self.disk.rollouts, "a finished rollout is run again"
                one = rollout(*key, model="m", reward=float(self.chance.random() < 0.6))
                self.disk.rollouts[key] = finished[attempt] = one
            scored = SCORING.score(visit.index, list(finished.values()), {"m": 0})
            self.happen()
            assert visit.index not in self.disk.fates, "a group is decided twice"
            self.disk.fates[visit.index] = scored.record()
            if scored.fate is Fate.READY:
                queued.append(scored)


@given(lives=st.lists(st.integers(1, 12), max_size=20), seed=st.integers(0, 1_000))
@settings(deadline=None, max_examples=60)
def test_each_task_is_visited_once_per_epoch_and_each_row_trained_once(
    lives: list[int], seed: int
) -> None:
    """RF40."""
    disk, chance = Disk(), random.Random(seed)
    for life in [*lives, 10_000]:
        try:
            Process(disk, life, chance).run()
        except Killed:
            continue
    assert sorted(disk.fates) == list(range(TASKS * EPOCHS))
    assert Counter(fate["task_id"] for fate in disk.fates.values()) == {
        f"t{n}": EPOCHS for n in range(TASKS)
    }
    trained = Counter(tag for step in disk.steps for tag in step)
    ready = [i for i, fate in disk.fates.items() if fate["fate"] == Fate.READY]
    rows = {Tag(index, attempt, 0) for index in ready for attempt in disk.fates[index]["attempts"]}
    assert set(trained.values()) <= {1}, "a row is trained twice"
    left = rows - set(trained)
    assert len(left) <= 1, "a step takes two: one row may still wait"
    assert set(trained) <= rows


def test_rollouts_that_are_too_old_are_made_anew() -> None:
    """RF21: the bound on staleness holds over a resume."""
    old, new = rollout("t0", 0, model="old"), rollout("t0", 1, model="new")
    standing = Standing(
        step=10,
        checkpoint=None,
        trained=frozenset(),
        fates={},
        rollouts={("t0", 0): old, ("t0", 1): new},
    )
    course = Course(
        mixture=Mixture(train=(task("t0"),)),
        seed=0,
        group_size=2,
        max_staleness=4,
        standing=standing,
        scoring=SCORING,
        steps={"old": 5, "new": 6},
    )
    assert dict(next(course.visits()).given) == {1: new}
    again = course.visits()
    next(again)
    second = next(again)
    assert (second.index, second.first_attempt) == (1, 2), "attempts never repeat"


# --- the folder -----------------------------------------------------------------------------------


def test_a_checkpoint_has_its_name_only_when_it_is_whole(tmp_path: Path) -> None:
    with closing(TrainingFolder(tmp_path)) as folder:
        for step in range(1, 5):
            staged = folder.staging / f"checkpoint-{step}"
            staged.mkdir()
            (staged / "optimizer.pt").write_text(f"{step}")
            assert step not in [int(p.name[5:]) for p in checkpoints(tmp_path)]
            kept = folder.keep_checkpoint(staged, step)
            assert (kept / "optimizer.pt").read_text() == f"{step}"
        (folder.staging / "checkpoint-5").mkdir()
    assert [path.name for path in checkpoints(tmp_path)] == ["step-3", "step-4"]
    with closing(TrainingFolder(tmp_path)) as folder:
        assert not list(folder.staging.iterdir()), "what a kill left half is cleared away"


def test_a_step_that_is_trained_again_counts_once(tmp_path: Path) -> None:
    with closing(TrainingFolder(tmp_path)) as folder:
        for step, tag in ((1, [0, 0, 0]), (2, [1, 0, 0]), (2, [2, 0, 0])):
            folder.add_step({"step": step, "rows": [{"tag": tag}], "metrics": {}})
        folder.add_group({"group": 0, "fate": "ready"})
        folder.add_group({"group": 0, "fate": "stale"})
    assert [record["rows"][0]["tag"] for record in read_steps(tmp_path).values()] == [
        [0, 0, 0],
        [2, 0, 0],
    ]


@pytest.mark.parametrize("name", ["steps.log", "groups.log"])
def test_a_record_torn_by_a_kill_is_cut_off_and_the_rest_goes_on(tmp_path: Path, name: str) -> None:
    with closing(TrainingFolder(tmp_path)) as folder:
        folder.add_step({"step": 1, "rows": [], "metrics": {}})
        folder.add_group({"group": 0, "fate": "ready"})
    whole = (tmp_path / name).read_bytes()
    for length in range(len(whole)):
        (tmp_path / name).write_bytes(whole + whole[:length])
        with closing(TrainingFolder(tmp_path)):
            pass
        assert len(list(log.read(tmp_path / name))) == 1
        assert (tmp_path / name).read_bytes() == whole


def test_a_log_is_read_on_from_where_it_was_left(tmp_path: Path) -> None:
    with closing(TrainingFolder(tmp_path)) as folder:
        folder.add_step({"step": 1})
        ((end, first),) = log.read_from(tmp_path / "steps.log", 0)
        assert first == {"step": 1}
        folder.add_step({"step": 2})
        assert [record for _, record in log.read_from(tmp_path / "steps.log", end)] == [{"step": 2}]
        with (tmp_path / "steps.log").open("ab") as file:
            file.write(b"half of a rec")
        assert len(list(log.read_from(tmp_path / "steps.log", end))) == 1
