"""The adapter on the development tasks while it trains: what a checkpoint is chosen by.

Each evaluation is a run folder of its own, ``evaluations/step-N``, so that ``ha compare`` and
``ha show`` read it like any other; ``evaluations.log`` has a line for each that is whole.
"""

from __future__ import annotations

import asyncio
import logging
import shutil
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractContextManager, aclosing, closing
from pathlib import Path
from typing import Any

from harness_adapters.record.folder import RunFolder, derive, file_name, read_rollouts
from harness_adapters.record.manifest import Manifest
from harness_adapters.runners.local import Job, run_local
from harness_adapters.summary import summarise
from harness_adapters.train.store import Version
from harness_adapters.types import Rollout, Task

_log = logging.getLogger(__name__)

FOLDER = "evaluations"

Play = Callable[[Version, Task, int, Path], Awaitable[Rollout]]
"""One session of a version: task, attempt, and the folder for the harness's log."""


class Development:
    """Evaluates versions beside the sessions that are trained on, one version at a time; used in
    the loop's thread.

    :param tasks: those of the evaluation; without any, nothing is evaluated.
    :param every: steps between two evaluations; 0 for none.
    :param run: the training run's folder.
    :param manifest: of an evaluation, but for the model.
    :param done: steps that an earlier process of this run evaluated.
    :param using: keeps a version loaded.
    :param tell: called with ``{"step", "adapter", "planned", "finished", "solved", "mean_reward",
        "mean_calls", ...}`` of each evaluation.
    """

    def __init__(
        self,
        *,
        tasks: Sequence[Task],
        every: int,
        run: Path,
        manifest: Manifest,
        done: Sequence[int],
        play: Play,
        using: Callable[[Version], AbstractContextManager[None]],
        tell: Callable[[dict[str, Any]], None],
    ) -> None:
        self._tasks = tasks
        self._every = every
        self._attempts = manifest.attempts
        self._folder = run / FOLDER
        self._manifest = manifest
        self._done = set(done)
        self._play = play
        self._using = using
        self._tell = tell
        self._under_way: asyncio.Task[None] | None = None

    async def begin(self, version: Version) -> None:
        """Evaluate a version if it is one's turn. One that is still under way is not waited for:
        the next one's turn is then left out.

        :raises Exception: what stopped an earlier evaluation.
        """
        step = version.step
        if not (self._tasks and self._every) or step is None or step % self._every:
            return
        if step in self._done:
            return
        if self._under_way is not None:
            if not self._under_way.done():
                _log.warning("step %d is not evaluated: an earlier one still is", step)
                return
            self._under_way.result()
        self._under_way = asyncio.ensure_future(self._evaluate(version, step))

    async def finish(self) -> None:
        """Wait for the one under way."""
        if self._under_way is not None:
            await self._under_way

    async def stop(self) -> None:
        """Cancel it, and wait until its sandboxes are gone."""
        if self._under_way is not None:
            self._under_way.cancel()
            await asyncio.gather(self._under_way, return_exceptions=True)

    async def _evaluate(self, version: Version, step: int) -> None:
        out = self._folder / f"step-{step}"
        shutil.rmtree(out, ignore_errors=True)  # half of one, of another version of this step
        manifest = self._manifest.model_copy(update={"model": version.name})
        jobs = [
            Job(task=task, attempt=attempt)
            for attempt in range(self._attempts)
            for task in self._tasks
        ]
        with self._using(version), closing(RunFolder.create(out, manifest)) as folder:

            async def session(job: Job, number: int) -> Rollout:
                name = f"{file_name(job.task.id, job.attempt)}.{number}"
                return await self._play(version, job.task, job.attempt, folder.log_dir(name))

            played = run_local(
                jobs,
                session,
                concurrency=manifest.concurrency,
                infra_retries=manifest.infra_retries,
            )
            async with aclosing(played):
                async for _, rollout in played:
                    folder.add(rollout)
        for problem in derive(out):
            _log.warning("%s: %s", out.name, problem)
        self._done.add(step)
        summary = summarise(read_rollouts(out), planned=len(jobs), broken=0)
        self._tell({"step": step, "adapter": version.name, **summary})
