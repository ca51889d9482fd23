from __future__ import annotations

import asyncio
import gc
from contextlib import aclosing
from pathlib import Path
from typing import Any, cast

import pytest

from harness_adapters import Outcome, Rollout, Task, TaskMetadata, Transcript
from harness_adapters.runners.local import Job, run_local

TASK = Task(id="t", instruction="do", path=Path(), metadata=TaskMetadata(kind="qa", cluster="c"))
JOBS = [Job(task=TASK, attempt=number) for number in range(6)]


def ended(job: Job, outcome: Outcome) -> Rollout:
    return Rollout(
        task_id="t",
        cluster="c",
        kind="qa",
        attempt=job.attempt,
        tries=1,
        session_id="",
        model="m",
        outcome=outcome,
        flags=frozenset(),
        reward=None if outcome is Outcome.INFRA else 1.0,
        terms=[],
        verdict=None,
        calls=0,
        seconds=0.0,
        transcript=Transcript(),
    )


async def test_no_more_run_at_once_than_asked_and_all_get_done() -> None:
    running, most = 0, 0

    async def work(job: Job, number: int) -> Rollout:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0)
        running -= 1
        return ended(job, Outcome.SOLVED)

    done = [both async for both in run_local(JOBS, work, concurrency=2, infra_retries=0)]
    assert all(one.attempt == job.attempt for job, one in done)
    assert sorted(job.attempt for job, _ in done) == list(range(6))
    assert most == 2


async def test_infra_is_retried_and_only_the_last_try_counts() -> None:
    async def work(job: Job, number: int) -> Rollout:
        good = job.attempt == 0 and number == 3
        return ended(job, Outcome.SOLVED if good else Outcome.INFRA)

    rollouts = [one async for _, one in run_local(JOBS[:2], work, concurrency=2, infra_retries=2)]
    assert {(one.attempt, one.outcome, one.tries) for one in rollouts} == {
        (0, Outcome.SOLVED, 3),
        (1, Outcome.INFRA, 3),
    }


async def test_closing_cancels_what_runs_and_waits_until_it_is_gone() -> None:
    """RF31: nothing of a cancelled attempt arrives later."""
    cleaned: list[int] = []

    async def work(job: Job, number: int) -> Rollout:
        if job.attempt == 0:
            return ended(job, Outcome.SOLVED)
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            cleaned.append(job.attempt)
        return cast(Rollout, None)

    async with aclosing(run_local(JOBS, work, concurrency=3, infra_retries=2)) as rollouts:
        job, first = await anext(rollouts)
    assert job.attempt == first.attempt == 0
    assert sorted(cleaned) == [1, 2]


async def test_of_several_that_fail_at_once_one_is_raised_and_none_is_left_unasked() -> None:
    together = asyncio.Barrier(3)
    complaints: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(context))

    async def work(job: Job, number: int) -> Rollout:
        await together.wait()
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        async for _ in run_local(JOBS, work, concurrency=3, infra_retries=0):
            pass
    gc.collect()
    assert complaints == []
