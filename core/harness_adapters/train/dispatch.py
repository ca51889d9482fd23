"""Which sessions run when: groups of rollouts, pinned to adapter versions, cancelled when doomed.

It knows neither the trainer nor any server: it is given what to visit, how to run one session,
and whom to hand decided groups to.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field

from harness_adapters.runners.local import Job, with_retries
from harness_adapters.train.groups import Fate, Scored, Scoring, Visit
from harness_adapters.types import Rollout


@dataclass(frozen=True, slots=True, kw_only=True)
class Begun:
    """A session that is under way: what its age and its length are counted from.

    :ivar step: optimizer steps behind the adapter that it is pinned to.
    """

    step: int
    at: float


@dataclass(slots=True, kw_only=True)
class OpenGroup:
    """A visit whose rollouts are not all there yet."""

    visit: Visit
    sessions: set[asyncio.Task[None]] = field(default_factory=set)
    begun: dict[int, Begun] = field(default_factory=dict[int, Begun])
    finished: dict[int, Rollout] = field(default_factory=dict[int, Rollout])

    def oldest(self, steps: Mapping[str, int]) -> int | None:
        """A group is as old as its oldest member; ``None`` before the first dispatch."""
        ages = [steps[one.model] for one in self.finished.values() if one.model in steps]
        ages += [begun.step for begun in self.begun.values()]
        return min(ages, default=None)


Session = Callable[[Job, int, Callable[[int], None]], Awaitable[Rollout]]
"""Runs a job's n-th try; calls back with the step of the adapter once it is pinned to one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """A group, its rollouts, and the seconds of each session that was cancelled with it."""

    group: Scored
    rollouts: tuple[Rollout, ...]
    cancelled: tuple[float, ...] = ()


class Dispatcher:
    """Keeps up to ``in_flight`` sessions running, ``places`` groups open or waiting.

    :param visits: what to visit, in order; the next is asked for when there is a place.
    :param session: runs one try of one rollout.
    :param finished: called with each rollout that has ended, ``infra`` ones too.
    :param decided: called with each group; one whose fate is ``ready`` keeps its place until
        ``leave`` is called.
    :param waiting: groups that hold a place already.
    :param steps: adapter name -> optimizer steps behind it; grows while this runs.
    """

    def __init__(
        self,
        *,
        visits: Iterator[Visit],
        session: Session,
        scoring: Scoring,
        steps: Mapping[str, int],
        finished: Callable[[Rollout], None],
        decided: Callable[[Decided], None],
        group_size: int,
        in_flight: int,
        places: int,
        waiting: int,
        infra_retries: int,
        max_staleness: int,
    ) -> None:
        self._visits = visits
        self._session = session
        self._scoring = scoring
        self._steps = steps
        self._finished = finished
        self._decided = decided
        self._group_size = group_size
        self._infra_retries = infra_retries
        self._max_staleness = max_staleness
        self._sessions = asyncio.Semaphore(in_flight)
        self._places = _Places(places, taken=waiting)
        self._open: dict[int, OpenGroup] = {}
        self._policy_step = 0
        self._failure: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def run(self) -> None:
        """Until cancelled. On the way out every session is cancelled and waited for.

        :raises BaseException: whatever ``session``, ``finished`` or ``decided`` raised.
        """
        visiting = asyncio.ensure_future(self._visit_all())
        try:
            await asyncio.wait({visiting, self._failure}, return_when=asyncio.FIRST_COMPLETED)
            (self._failure if self._failure.done() else visiting).result()
        finally:
            visiting.cancel()
            sessions = [one for group in self._open.values() for one in group.sessions]
            for one in sessions:
                one.cancel()
            await asyncio.gather(visiting, *sessions, return_exceptions=True)
            if self._failure.done():
                self._failure.exception()  # it was asked for

    def leave(self) -> None:
        """A ready group has left the queue: its place is free."""
        self._places.release()

    def policy_moved(self, step: int) -> None:
        """A new version is out. Groups that would be too old even if they ended now are
        cancelled, with their sessions and sandboxes."""
        self._policy_step = step
        for group in list(self._open.values()):
            oldest = group.oldest(self._steps)
            if oldest is not None and step - oldest > self._max_staleness:
                self._cancel(group)

    @property
    def open_groups(self) -> int:
        return len(self._open)

    async def _visit_all(self) -> None:
        for visit in self._visits:
            await self._places.take()
            group = OpenGroup(visit=visit, finished=dict(visit.given))
            self._open[visit.index] = group
            attempts = range(visit.first_attempt, visit.first_attempt + self._group_size)
            for attempt in attempts:
                if attempt not in group.finished:
                    await self._sessions.acquire()
                    if visit.index not in self._open:  # cancelled meanwhile
                        self._sessions.release()
                        break
                    self._start(group, attempt)
            self._decide_if_whole(group)  # all of it may have been given
        await asyncio.Event().wait()

    def _start(self, group: OpenGroup, attempt: int) -> None:
        session = asyncio.ensure_future(self._run_session(group, attempt))
        group.sessions.add(session)
        session.add_done_callback(lambda done: self._ended(group, done))

    async def _run_session(self, group: OpenGroup, attempt: int) -> None:
        def pinned(step: int) -> None:
            group.begun[attempt] = Begun(step=step, at=time.monotonic())

        job = Job(task=group.visit.task, attempt=attempt)
        _, rollout = await with_retries(
            job, lambda job, number: self._session(job, number, pinned), self._infra_retries
        )
        group.begun.pop(attempt, None)
        group.finished[attempt] = rollout
        self._finished(rollout)

    def _ended(self, group: OpenGroup, session: asyncio.Task[None]) -> None:
        self._sessions.release()
        group.sessions.discard(session)
        if session.cancelled():
            return
        error = session.exception()
        try:
            if error is not None:
                raise error
            self._decide_if_whole(group)
        except BaseException as failure:  # of a session, a recorder or a scorer: none may be lost
            if not self._failure.done():
                self._failure.set_exception(failure)

    def _decide_if_whole(self, group: OpenGroup) -> None:
        if group.visit.index not in self._open or len(group.finished) < self._group_size:
            return
        del self._open[group.visit.index]
        rollouts = tuple(group.finished[attempt] for attempt in sorted(group.finished))
        scored = self._scoring.score(group.visit.index, rollouts, self._steps)
        self._hand_on(Decided(group=scored, rollouts=rollouts))

    def _cancel(self, group: OpenGroup) -> None:
        del self._open[group.visit.index]
        now = time.monotonic()
        cancelled = tuple(now - begun.at for begun in group.begun.values())
        for session in group.sessions:
            session.cancel()
        scored = Scored(index=group.visit.index, task_id=group.visit.task.id, fate=Fate.STALE)
        rollouts = tuple(group.finished.values())
        self._hand_on(Decided(group=scored, rollouts=rollouts, cancelled=cancelled))

    def _hand_on(self, decided: Decided) -> None:
        if decided.group.fate is not Fate.READY:
            self._places.release()
        self._decided(decided)


class _Places:
    """A semaphore that may start over its limit: a resumed run can find more groups waiting than
    it would begin."""

    def __init__(self, limit: int, *, taken: int) -> None:
        self._limit = limit
        self._taken = taken
        self._freed = asyncio.Event()

    async def take(self) -> None:
        while self._taken >= self._limit:
            self._freed.clear()
            await self._freed.wait()
        self._taken += 1

    def release(self) -> None:
        self._taken -= 1
        self._freed.set()
