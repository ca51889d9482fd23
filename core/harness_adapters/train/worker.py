"""TRL's rollout worker, with sessions in real harnesses behind it.

The trainer has the main thread; everything about sessions runs in the thread of an asyncio loop.
What crosses between them: rows and metrics out (two queues), "a new policy is out" in.
"""

from __future__ import annotations

import asyncio
import logging
import queue
from collections import deque
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from harness_adapters.errors import HarnessAdaptersError
from harness_adapters.execution import MAX_GUARD_FAULT_SHARE
from harness_adapters.loop import Setup, rollout
from harness_adapters.plugins import Plugins
from harness_adapters.record.folder import RunFolder, file_name
from harness_adapters.runners.local import Job
from harness_adapters.train.dispatch import Decided, Dispatcher
from harness_adapters.train.folder import TrainingFolder
from harness_adapters.train.groups import Fate, Scored, Scoring, TrainRow, Visit
from harness_adapters.train.loop_thread import LoopThread
from harness_adapters.train.publish import Publisher
from harness_adapters.train.recipe import Recipe
from harness_adapters.train.row_queue import RowQueue
from harness_adapters.train.session_metrics import Metrics, bucket, of_group
from harness_adapters.train.store import Version
from harness_adapters.types import Rollout, Task

_log = logging.getLogger(__name__)

UNSCORABLE_GROUPS = 8
"""So many groups in a row without one scored rollout: nothing is going to be scored any more."""
MAX_BLOCKED = 200
LOOK_SECONDS = 1.0
REFUSALS = 3
MIN_GUARD_FAULTS = 2


class TrainingStopped(HarnessAdaptersError):
    """Training cannot go on. What finished is on disk, and ``--resume`` goes on from there."""


class MixedVersions(HarnessAdaptersError):
    """A turn was sampled by another adapter than its session is pinned to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Replica:
    """One server that samples.

    :ivar setup: of its sessions; the model in it is replaced by the version of each session.
    """

    url: str
    setup: Setup


@dataclass(kw_only=True)
class RolloutWorker:
    """Implements TRL's rollout-worker protocol.

    :param waiting: groups of an earlier process whose rows are still to be trained.
    :param visits: what to visit next, without end.
    :param steps: adapter name -> optimizer steps behind it; grows while this runs.
    :param convert: a row in TRL's own form, from the row and the time it was queued at.
    :ivar blocked: calls that the guard blocked and nobody has looked at yet, the newest ones.
    """

    thread: LoopThread
    replicas: Sequence[Replica]
    publisher: Publisher
    recipe: Recipe
    scoring: Scoring
    waiting: Sequence[Scored]
    visits: Iterator[Visit]
    steps: Mapping[str, int]
    run_folder: RunFolder
    training: TrainingFolder
    plugins: Plugins
    convert: Callable[[TrainRow, float], Any]
    policy_step: int = 0
    metrics_queue: queue.Queue[Metrics] = field(default_factory=queue.Queue)
    problems: list[str] = field(default_factory=list)
    blocked: deque[dict[str, Any]] = field(default_factory=lambda: deque(maxlen=MAX_BLOCKED))

    def __post_init__(self) -> None:
        self.rollout_buffer = RowQueue(
            convert=self.convert, too_old=self._too_old, emptied=self._emptied
        )
        self._busy = [0] * len(self.replicas)
        self._task: asyncio.Task[None] | None = None
        self._dispatcher: Dispatcher | None = None
        self._error: BaseException | None = None
        self._unscorable = 0
        self._sessions = 0
        self._guard_faults = 0

    # --- TRL's protocol, called in the trainer's thread ------------------------------------------

    def start(self) -> None:
        """Begin to produce rollouts; the first version is published."""
        self.thread.call(self._begin())

    def stop(self) -> None:
        """Cancel all sessions and wait until their sandboxes are gone. May be called twice."""
        self.thread.call(self._end())

    def update_model_version(self, model_version: int) -> None:
        """:param model_version: optimizer steps behind the version that was just published."""
        self.policy_step = model_version
        self.rollout_buffer.drop_old()
        if self._dispatcher is not None:
            self.thread.post(self._dispatcher.policy_moved, model_version)

    def check_health(self, stale_after_s: float) -> None:
        """:raises TrainingStopped: sessions cannot go on."""
        if self._error is not None:
            raise self._error

    # --- in the loop's thread --------------------------------------------------------------------

    async def _begin(self) -> None:
        size, in_flight = self.recipe.rollouts.group_size, self.recipe.rollouts.in_flight
        self._dispatcher = Dispatcher(
            visits=self.visits,
            session=self._session,
            scoring=self.scoring,
            steps=self.steps,
            finished=self._finished,
            decided=self._decided,
            group_size=size,
            in_flight=in_flight,
            # as many groups may wait for the trainer as can be under way, and one that fills up
            places=2 * -(-in_flight // size) + 1,
            waiting=len(self.waiting),
            infra_retries=self.recipe.rollouts.infra_retries,
            max_staleness=self.recipe.rollouts.max_staleness,
        )
        self._dispatcher.policy_moved(self.policy_step)
        for group in self.waiting:
            self.rollout_buffer.add(group)
        self._task = asyncio.ensure_future(self._produce(self._dispatcher))

    async def _end(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _produce(self, dispatcher: Dispatcher) -> None:
        try:
            async with _watched([replica.url for replica in self.replicas]) as gone:
                work = asyncio.ensure_future(dispatcher.run())
                either: set[asyncio.Future[Any]] = {work, gone}
                try:
                    await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
                    if gone.done():
                        raise TrainingStopped(gone.result())
                    await work
                finally:
                    work.cancel()
                    await asyncio.gather(work, return_exceptions=True)
        except asyncio.CancelledError:
            raise
        except BaseException as error:
            self._error = error
            self.rollout_buffer.fail(error)

    async def _session(self, job: Job, number: int, pinned: Callable[[int], None]) -> Rollout:
        version = self.publisher.current
        assert version.step is not None
        with self.publisher.using(version), self._least_busy() as replica:
            pinned(version.step)
            name = f"{file_name(job.task.id, job.attempt)}.v{version.number}.{number}"
            log_dir = self.run_folder.log_dir(name)
            one = await self._play(replica, version, job.task, job.attempt, log_dir)
        if version is not self.publisher.current:
            await self.publisher.retire()
        return one

    async def play(self, version: Version, task: Task, attempt: int, log_dir: Path) -> Rollout:
        """A session that is not trained on, of a version that somebody keeps loaded."""
        with self._least_busy() as replica:
            return await self._play(replica, version, task, attempt, log_dir)

    async def _play(
        self, replica: Replica, version: Version, task: Task, attempt: int, log_dir: Path
    ) -> Rollout:
        setup = replace(replica.setup, model=version.name)
        one = await rollout(task, setup, log_dir=log_dir, attempt=attempt)
        for turn in one.transcript.turns:
            if turn.model != version.name:
                raise MixedVersions(
                    f"{log_dir.name}: turn {turn.index} was sampled by {turn.model}"
                )
        return one

    @contextmanager
    def _least_busy(self) -> Iterator[Replica]:
        chosen = min(range(len(self.replicas)), key=self._busy.__getitem__)
        self._busy[chosen] += 1
        try:
            yield self.replicas[chosen]
        finally:
            self._busy[chosen] -= 1

    def _finished(self, one: Rollout) -> None:
        try:
            self.run_folder.add(one)
        except OSError as error:
            raise TrainingStopped(
                f"cannot write to {self.run_folder.path}: {error.strerror}"
            ) from error
        self.problems.extend(self.plugins.observe(one))
        self._sessions += 1
        self._guard_faults += bool(one.transcript.guard_faults)
        if self._guard_faults > max(MIN_GUARD_FAULTS, MAX_GUARD_FAULT_SHARE * self._sessions):
            fault = next(iter(one.transcript.guard_faults), "see verdicts.log")
            raise TrainingStopped(f"a guard rule is at fault: {fault}")

    def _decided(self, decided: Decided) -> None:
        group = decided.group
        blocked = blocked_calls(decided.rollouts)
        self.training.add_group({**group.record(), "blocked": blocked})
        self.blocked.extend(blocked)
        for metrics in of_group(decided):
            self.metrics_queue.put(metrics)
        self._look_for_end(decided)
        if group.fate is Fate.READY:
            self.rollout_buffer.add(group)

    def _look_for_end(self, decided: Decided) -> None:
        scored = decided.group.fate is not Fate.TOO_SMALL or decided.group.attempts
        self._unscorable = 0 if scored else self._unscorable + 1
        if self._unscorable >= UNSCORABLE_GROUPS:
            error = next((one.error for one in decided.rollouts if one.error), "no reason given")
            raise TrainingStopped(
                f"{self._unscorable} groups in a row had no rollout that could be scored: {error}"
            )

    # --- in either thread ------------------------------------------------------------------------

    def _too_old(self, step: int) -> bool:
        return self.policy_step - step > self.recipe.rollouts.max_staleness

    def _emptied(self, group: Scored, dropped: int) -> None:
        if dropped:
            self.thread.post(self._dropped_from_queue, group, dropped)
        if self._dispatcher is not None:
            self.thread.post(self._dispatcher.leave)

    def _dropped_from_queue(self, group: Scored, rows: int) -> None:
        self.training.add_group(replace(group, fate=Fate.STALE).record())
        self.metrics_queue.put({"groups/stale_total": 1.0, "rows/stale_total": float(rows)})
        for attempt in {row.tag.attempt for row in group.rows}:
            seconds = next(row.seconds for row in group.rows if row.tag.attempt == attempt)
            self.metrics_queue.put({f"dropped/{bucket(seconds)}": (1.0, 0.0)})


def blocked_calls(rollouts: Sequence[Rollout]) -> list[dict[str, Any]]:
    """What the guard blocked, for the live view: no arguments, which may hold anything."""
    return [
        {
            "task_id": one.task_id,
            "attempt": one.attempt,
            "tool": call.name,
            "rules": sorted({finding.rule for finding in call.findings}),
        }
        for one in rollouts
        for call in one.transcript.blocked
    ]


@asynccontextmanager
async def _watched(urls: Sequence[str]) -> AsyncGenerator[asyncio.Future[str]]:
    """A future that is done, with a reason, when one of the servers takes no connection any
    more. A server that is merely slow takes them."""
    watching = asyncio.ensure_future(_until_gone(urls))
    try:
        yield watching
    finally:
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)


async def _until_gone(urls: Sequence[str]) -> str:
    refusals = dict.fromkeys(urls, 0)
    while True:
        for url in urls:
            parts = urlsplit(url)
            port = parts.port or (443 if parts.scheme == "https" else 80)
            try:
                _, writer = await asyncio.open_connection(parts.hostname, port)
                writer.close()
                refusals[url] = 0
            except OSError:
                refusals[url] += 1
            if refusals[url] >= REFUSALS:
                return f"the engine at {url} is gone"
        await asyncio.sleep(LOOK_SECONDS)
