"""Rollouts on this machine: bounded concurrency, infra retries, results as they finish."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from dataclasses import dataclass, replace

from harness_adapters.types import Outcome, Rollout, Task


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One rollout to do: attempt ``attempt`` of a task's group.

    :param arm: which arm it belongs to, where several are run at once.
    """

    task: Task
    attempt: int
    arm: int = 0


Work = Callable[[Job, int], Awaitable[Rollout]]
"""Does a job's n-th try (1-based), in a fresh session and sandbox."""


async def run_local(
    jobs: Sequence[Job], work: Work, *, concurrency: int, infra_retries: int
) -> AsyncGenerator[tuple[Job, Rollout]]:
    """Yield jobs with their rollouts as they finish, at most ``concurrency`` at a time.

    A rollout that ends as ``infra`` is tried again up to ``infra_retries`` times. Closing the
    iterator (or cancelling its reader) cancels what is running and waits until it is gone.
    """
    waiting = iter(jobs)
    running: set[asyncio.Task[tuple[Job, Rollout]]] = set()
    try:
        while True:
            while len(running) < concurrency and (job := next(waiting, None)):
                running.add(asyncio.create_task(with_retries(job, work, infra_retries)))
            if not running:
                return
            done, _ = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
            for finished in done:
                running.remove(finished)  # what others ended with is asked for below
                yield finished.result()
    finally:
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)


async def with_retries(job: Job, work: Work, infra_retries: int) -> tuple[Job, Rollout]:
    """One job to its end: a rollout that is ``infra`` is tried again, up to so many times."""
    for number in range(1, infra_retries + 2):
        rollout = replace(await work(job, number), tries=number)
        if rollout.outcome is not Outcome.INFRA:
            break
    return job, rollout
