"""Groups: the rollouts of one visit to a task, and what becomes of them.

A group is scored when all its rollouts are. Its advantages are per rollout; each row of a
rollout carries them. What is decided about a group is journalled, so that a resumed run decides
nothing twice.
"""

from __future__ import annotations

import math
import random
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NamedTuple

from harness_adapters.train.advantages import Scale, Share, efficiency_share, group_advantages
from harness_adapters.types import Outcome, Rollout, Task

NO_SHARE = Share(0.0, 0.0)


class Tag(NamedTuple):
    """Which row: group, attempt within the task, row within the rollout."""

    group: int
    attempt: int
    row: int


class Fate(StrEnum):
    """What became of a group."""

    READY = "ready"  # its rows are to be trained
    ZERO_VARIANCE = "zero_variance"  # all rewards are equal: nothing to learn
    TOO_SMALL = "too_small"  # too few of its rollouts could be scored
    STALE = "stale"  # its oldest rollout was begun too many adapter versions ago
    NO_ROWS = "no_rows"  # nothing in it can be trained on


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainRow:
    """One sequence as the trainer takes it.

    :ivar logprobs: at the sampling temperature, 0 where ``loss`` is 0.
    :ivar advantage: of its rollout.
    :ivar version: the adapter that sampled it.
    :ivar step: optimizer steps behind that adapter.
    :ivar group_step: the same of its group's oldest rollout: what its age is counted from.
    :ivar seconds: of its session.
    """

    tag: Tag
    ids: array[int]
    loss: bytes
    logprobs: array[float]
    advantage: float
    version: str
    step: int
    group_step: int
    metrics: Mapping[str, float]
    seconds: float = 0.0
    messages: Sequence[Mapping[str, Any]] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Visit:
    """One visit to a task: the ``index``-th of the run.

    :ivar first_attempt: number of its first rollout among all of the task, over all epochs.
    :ivar given: rollouts that an earlier process finished.
    """

    index: int
    task: Task
    first_attempt: int
    given: Mapping[int, Rollout] = field(default_factory=dict[int, Rollout])


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """A decided group.

    :ivar rejected: why rows are left out -> how many.
    :ivar efficiency: see ``efficiency_share``.
    """

    index: int
    task_id: str
    fate: Fate
    rows: tuple[TrainRow, ...] = ()
    attempts: tuple[int, ...] = ()
    advantages: tuple[float, ...] = ()
    step: int = 0
    rejected: Mapping[str, int] = field(default_factory=dict[str, int])
    efficiency: Share = NO_SHARE

    def record(self) -> dict[str, Any]:
        """For the journal; the rows are made again from the rollouts."""
        return {
            "group": self.index,
            "task_id": self.task_id,
            "fate": self.fate.value,
            "attempts": list(self.attempts),
            "advantages": list(self.advantages),
            "step": self.step,
            "rejected": dict(self.rejected),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Scoring:
    """How groups are scored.

    :ivar longest: ids of the longest row that can be trained.
    :ivar shuffled: seed of the order in which a group's advantages are dealt to its rollouts, for
        a control run: ``None`` deals each its own.
    """

    min_group: int
    std_floor: float
    scale: Scale
    longest: int
    shuffled: int | None = None

    def score(self, index: int, rollouts: Sequence[Rollout], steps: Mapping[str, int]) -> Scored:
        """Decide a group whose rollouts have all ended.

        :param rollouts: ``infra`` ones, which have no reward, are left out here.
        :param steps: adapter name -> optimizer steps behind it.
        """
        task_id = rollouts[0].task_id if rollouts else ""
        fit = [one for one in rollouts if one.reward is not None]
        attempts = tuple(one.attempt for one in fit)
        if len(fit) < self.min_group:
            return Scored(index=index, task_id=task_id, fate=Fate.TOO_SMALL, attempts=attempts)
        rewards = [one.reward for one in fit if one.reward is not None]
        advantages = group_advantages(rewards, std_floor=self.std_floor, scale=self.scale)
        if advantages is None:
            return Scored(index=index, task_id=task_id, fate=Fate.ZERO_VARIANCE, attempts=attempts)
        if self.shuffled is not None:
            random.Random(f"{self.shuffled} {index}").shuffle(advantages)
        rows, rejected = self.rows(index, fit, advantages, steps)
        return Scored(
            index=index,
            task_id=task_id,
            fate=Fate.READY if rows else Fate.NO_ROWS,
            rows=tuple(rows),
            attempts=attempts,
            advantages=tuple(advantages),
            step=min(steps[one.model] for one in fit),
            rejected=rejected,
            efficiency=efficiency_share(
                rewards,
                [verifier_part(one) for one in fit],
                std_floor=self.std_floor,
                scale=self.scale,
            ),
        )

    def rows(
        self,
        index: int,
        rollouts: Sequence[Rollout],
        advantages: Sequence[float],
        steps: Mapping[str, int],
    ) -> tuple[list[TrainRow], dict[str, int]]:
        """The rows of scored rollouts, and how many were left out for which reason."""
        rows: list[TrainRow] = []
        rejected: dict[str, int] = {}
        oldest = min(steps[one.model] for one in rollouts)
        for one, advantage in zip(rollouts, advantages, strict=True):
            metrics = row_metrics(one)
            for number, row in enumerate(one.transcript.rows()):
                reason = self._unfit(row.loss, row.logprobs)
                if reason:
                    rejected[reason] = rejected.get(reason, 0) + 1
                    continue
                rows.append(
                    TrainRow(
                        tag=Tag(index, one.attempt, number),
                        ids=row.ids,
                        loss=row.loss,
                        logprobs=_zero_where_masked(row.loss, row.logprobs),
                        advantage=advantage,
                        version=row.model,
                        step=steps[one.model],
                        group_step=oldest,
                        metrics=metrics,
                        seconds=one.seconds,
                        messages=messages(one) if number == 0 else (),
                    )
                )
        return rows, rejected

    def _unfit(self, loss: bytes, logprobs: array[float]) -> str:
        if not any(loss[1:]):
            return "nothing_sampled"  # what all its paths share is trained in another row
        if len(loss) > self.longest:
            return "too_long"
        if not all(math.isfinite(p) for p, trained in zip(logprobs, loss, strict=True) if trained):
            return "bad_logprobs"
        return ""


def _zero_where_masked(loss: bytes, logprobs: array[float]) -> array[float]:
    """A trainer that multiplies by the mask would spread ``nan``: 0 times it is ``nan``."""
    return array("f", [p if trained else 0.0 for p, trained in zip(logprobs, loss, strict=True)])


def verifier_part(rollout: Rollout) -> float:
    """What the verifier gave; 0 for a blocked rollout, which has no terms."""
    return sum(term.value for term in rollout.terms if term.name == "verifier")


def row_metrics(rollout: Rollout) -> dict[str, float]:
    """Averaged by the trainer over the rows of a step."""
    terms = {f"rewards/{term.name}": term.value for term in rollout.terms}
    return {"reward": rollout.reward or 0.0, "calls": float(rollout.calls), **terms}


def messages(rollout: Rollout) -> list[dict[str, Any]]:
    """The main conversation, for a trace that people read."""
    turns = [turn for turn in rollout.transcript.turns if not turn.auxiliary]
    if not turns:
        return []
    return [message for turn in turns for message in turn.new_messages] + [turns[-1].reply]


def is_infra(rollout: Rollout) -> bool:
    return rollout.outcome is Outcome.INFRA
