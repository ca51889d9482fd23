"""Sessions and groups over made-up sessions: who is pinned to what, and who is cancelled."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from training import rollout, task

from harness_adapters.runners.local import Job
from harness_adapters.train.dispatch import Decided, Dispatcher
from harness_adapters.train.groups import Fate, Scoring, Visit
from harness_adapters.types import Rollout

SCORING = Scoring(min_group=2, std_floor=0.05, scale="group", longest=100)


@dataclass
class Stage:
    """Sessions that end when told to."""

    current: int = 0
    running: dict[tuple[str, int], asyncio.Event] = field(default_factory=dict)
    rewards: Callable[[Job], float | None] = lambda job: float(job.attempt % 2)
    most: int = 0
    cancelled: list[tuple[str, int]] = field(default_factory=list)
    recorded: list[Rollout] = field(default_factory=list)
    decided: list[Decided] = field(default_factory=list)
    steps: dict[str, int] = field(default_factory=lambda: {f"v{n}": n for n in range(20)})
    tries: int = 0
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    async def session(self, job: Job, number: int, pinned: Callable[[int], None]) -> Rollout:
        self.tries += 1
        version = self.current
        pinned(version)
        key = (job.task.id, job.attempt)
        self.running[key] = asyncio.Event()
        self.most = max(self.most, len(self.running))
        self.changed.set()
        try:
            await self.running[key].wait()
        except asyncio.CancelledError:
            self.cancelled.append(key)
            raise
        finally:
            del self.running[key]
            self.changed.set()
        reward = self.rewards(job)
        return rollout(job.task.id, job.attempt, model=f"v{version}", reward=reward)

    async def until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(60):
            while not condition():
                self.changed.clear()
                await self.changed.wait()

    def end(self, *keys: tuple[str, int]) -> None:
        for key in keys or list(self.running):
            self.running[key].set()

    def on_decided(self, decided: Decided) -> None:
        self.decided.append(decided)
        self.changed.set()


@asynccontextmanager
async def dispatching(
    stage: Stage, **changes: Any
) -> AsyncGenerator[tuple[Dispatcher, asyncio.Future[None]]]:
    visits = changes.pop("visits", None) or endless()
    given = {
        "group_size": 2,
        "in_flight": 4,
        "places": 4,
        "waiting": 0,
        "infra_retries": 0,
        "max_staleness": 1,
        **{name: value for name, value in changes.items() if name != "finished"},
    }
    made = Dispatcher(
        visits=visits,
        session=stage.session,
        scoring=SCORING,
        steps=stage.steps,
        finished=changes.get("finished", stage.recorded.append),
        decided=stage.on_decided,
        **given,
    )
    work = asyncio.ensure_future(made.run())
    try:
        yield made, work
    finally:
        work.cancel()
        await asyncio.gather(work, return_exceptions=True)


def endless() -> Iterator[Visit]:
    index = 0
    while True:
        yield Visit(index=index, task=task(f"t{index}"), first_attempt=0)
        index += 1


async def test_a_group_is_decided_when_all_its_rollouts_are_scored() -> None:
    stage = Stage()
    async with dispatching(stage):
        await stage.until(lambda: len(stage.running) == 4)
        stage.end(("t0", 0))
        await stage.until(lambda: ("t2", 0) in stage.running)
        assert stage.decided == []
        stage.end(("t0", 1))
        await stage.until(lambda: bool(stage.decided))
        assert stage.decided[0].group.fate is Fate.READY
        assert [one.attempt for one in stage.decided[0].rollouts] == [0, 1]
        assert stage.most <= 4


async def test_no_more_groups_are_begun_than_there_are_places() -> None:
    """RF21: the bound counts groups, whatever the versions are, also after a resume."""
    stage = Stage()
    async with dispatching(stage, places=2, waiting=3) as (made, _):
        await asyncio.sleep(0)
        assert stage.running == {}
        made.leave()
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert stage.running == {}, "three were waiting for two places"
        made.leave()
        await stage.until(lambda: len(stage.running) == 2)
        stage.end()
        await stage.until(lambda: bool(stage.decided))
        assert stage.running == {}, "a ready group keeps its place until the trainer has it"
        made.leave()
        await stage.until(lambda: len(stage.running) == 2)


async def test_doomed_groups_are_cancelled_at_once_and_others_are_not() -> None:
    """RF22, with ages from dispatch (RF20): a group is as old as its oldest member."""
    stage = Stage()
    async with dispatching(stage) as (made, _):
        await stage.until(lambda: len(stage.running) == 4)
        stage.current = 1
        stage.end(("t0", 0))
        await stage.until(lambda: ("t2", 0) in stage.running)
        made.policy_moved(1)
        assert stage.decided == []
        stage.current = 2
        made.policy_moved(2)
        fates = {one.group.index: one.group.fate for one in stage.decided}
        assert fates == {0: Fate.STALE, 1: Fate.STALE}
        await stage.until(lambda: {("t0", 1), ("t1", 0), ("t1", 1)} <= set(stage.cancelled))
        assert ("t2", 0) in stage.running
        lengths = {one.group.index: len(one.cancelled) for one in stage.decided}
        assert lengths == {0: 1, 1: 2}
        assert [one.attempt for one in stage.decided[0].rollouts] == [0]


async def test_infra_is_tried_again_and_then_left_out() -> None:
    stage = Stage(rewards=lambda job: None if job.attempt == 2 else float(job.attempt))
    async with dispatching(stage, group_size=3, in_flight=3, infra_retries=1):
        await stage.until(lambda: len(stage.running) == 3)
        stage.end()
        await stage.until(lambda: stage.tries == 4)
        stage.end(("t0", 2))
        await stage.until(lambda: bool(stage.decided))
        assert stage.decided[0].group.attempts == (0, 1)
        assert len(stage.recorded) == 3


async def test_what_an_earlier_process_finished_is_not_run_again() -> None:
    stage = Stage()
    given = {a: rollout("t0", a, model="v0", reward=float(a)) for a in range(2)}
    visits = iter(
        [
            Visit(index=0, task=task("t0"), first_attempt=0, given=given),
            Visit(index=1, task=task("t1"), first_attempt=0, given={0: given[0]}),
        ]
    )
    async with dispatching(stage, visits=visits):
        await stage.until(lambda: bool(stage.decided) and len(stage.running) == 1)
        assert stage.decided[0].group.index == 0
        assert list(stage.running) == [("t1", 1)]
        assert stage.recorded == []


async def test_a_fault_of_a_session_or_a_recorder_is_not_lost() -> None:
    stage = Stage()

    def full(one: Rollout) -> None:
        raise OSError("the disk is full")

    async with dispatching(stage, finished=full) as (_, work):
        await stage.until(lambda: len(stage.running) == 4)
        stage.end(("t0", 0))
        with pytest.raises(OSError, match="full"):
            await asyncio.wait_for(asyncio.shield(work), 60)
        assert len(stage.cancelled) >= 3 and stage.running == {}
