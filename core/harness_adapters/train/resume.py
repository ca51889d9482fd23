"""Where a run stands, read from its folder: what is trained, and what is still to be visited.

Nothing is kept beside the logs, so nothing can disagree with them: the newest whole checkpoint
says which step to go on from; the rows that the steps up to it have trained, the fates of groups
and the recorded rollouts say the rest.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness_adapters.record.folder import read_rollouts
from harness_adapters.tasks.mixture import Mixture
from harness_adapters.train.folder import checkpoints, read_groups, read_steps, step_of
from harness_adapters.train.groups import Fate, Scored, Scoring, Tag, Visit, is_infra
from harness_adapters.types import Rollout, Task


@dataclass(frozen=True, kw_only=True)
class Standing:
    """:ivar step: optimizer steps behind the newest checkpoint; 0 without one.
    :ivar trained: rows that are in it.
    :ivar fates: what was decided about each group.
    :ivar rollouts: everything scored, by task and attempt.
    """

    step: int
    checkpoint: Path | None
    trained: frozenset[Tag]
    fates: Mapping[int, Mapping[str, Any]]
    rollouts: Mapping[tuple[str, int], Rollout]

    @classmethod
    def read(cls, run: Path) -> Standing:
        """Of a folder that no process is writing."""
        found = checkpoints(run)
        step = step_of(found[-1]) if found else 0
        return cls(
            step=step,
            checkpoint=found[-1] if found else None,
            trained=frozenset(
                Tag(*row["tag"])
                for number, record in read_steps(run).items()
                if number <= step
                for row in record["rows"]
            ),
            fates=read_groups(run),
            rollouts={
                (one.task_id, one.attempt): one for one in read_rollouts(run) if not is_infra(one)
            },
        )


@dataclass(kw_only=True)
class Course:
    """The order of a run's visits, begun anew or gone on with.

    :ivar steps: adapter name -> optimizer steps behind it, of every version of the run.
    """

    mixture: Mixture
    seed: int
    group_size: int
    max_staleness: int
    standing: Standing
    scoring: Scoring
    steps: Mapping[str, int]

    def __post_init__(self) -> None:
        self.last_visited = max(self.standing.fates, default=-1)

    def waiting(self) -> Iterator[Scored]:
        """Groups that were ready and are not wholly trained: their rows go on waiting, also those
        that turn out too old: the queue counts them."""
        for index, task, _ in self._visits():
            if index > self.last_visited:
                return
            fate = self.standing.fates.get(index)
            if fate is None or fate["fate"] != Fate.READY:
                continue
            if group := self._scored_before(index, task, fate):
                yield group

    def visits(self) -> Iterator[Visit]:
        """Every visit that is not decided, without end; what was recorded of it is given."""
        for index, task, first in self._visits():
            if index in self.standing.fates:
                continue
            yield Visit(index=index, task=task, first_attempt=first, given=self._given(task, first))

    def _visits(self) -> Iterator[tuple[int, Task, int]]:
        visited: dict[str, int] = {}
        for index, task in self.mixture.visits(self.seed):
            first = visited.get(task.id, 0)
            visited[task.id] = first + self.group_size
            yield index, task, first

    def _given(self, task: Task, first: int) -> dict[int, Rollout]:
        recorded = {
            attempt: self.standing.rollouts.get((task.id, attempt))
            for attempt in range(first, first + self.group_size)
        }
        return {
            attempt: one
            for attempt, one in recorded.items()
            if one and one.model in self.steps and not self._too_old(self.steps[one.model])
        }

    def _scored_before(self, index: int, task: Task, fate: Mapping[str, Any]) -> Scored | None:
        """The rows of a decided group that are not trained yet; ``None`` when all are."""
        rollouts = [self.standing.rollouts[task.id, attempt] for attempt in fate["attempts"]]
        rows, _ = self.scoring.rows(index, rollouts, fate["advantages"], self.steps)
        left = tuple(row for row in rows if row.tag not in self.standing.trained)
        if not left:
            return None
        return Scored(
            index=index,
            task_id=task.id,
            fate=Fate.READY,
            rows=left,
            attempts=tuple(fate["attempts"]),
            advantages=tuple(fate["advantages"]),
            step=fate["step"],
        )

    def _too_old(self, step: int) -> bool:
        return self.standing.step - step > self.max_staleness
