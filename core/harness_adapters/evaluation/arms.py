"""One arm of a comparison: what a run folder says about each task, and what it does not say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from harness_adapters.gateway.transcript import Turn
from harness_adapters.outcomes import BLOCKED
from harness_adapters.record.folder import read_manifest, read_rollouts
from harness_adapters.record.manifest import Manifest
from harness_adapters.summary import solved
from harness_adapters.types import Outcome, Rollout, Severity


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """What one counted attempt contributes. Auxiliary requests are in none of its costs.

    :param calls: tool calls let through.
    :param tokens: sampled tokens; ``None`` where a turn has neither ids nor a usage figure.
    :param seconds: wall time of the whole rollout, sandbox and verifier included.
    :param passed: what the verifier said, also of a blocked attempt; ``None`` when it never ran.
    :param rules: the rules that blocked something.
    """

    solved: bool
    calls: int
    turns: int
    tokens: int | None
    seconds: float
    blocked: bool
    passed: bool | None
    rules: frozenset[str] = frozenset()
    blocked_calls: int = 0
    auxiliary_calls: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskResult:
    """A task's counted attempts in one arm; there is at least one."""

    task_id: str
    cluster: str
    kind: str
    difficulty: str
    attempts: tuple[Observation, ...]

    @property
    def solved(self) -> int:
        return sum(one.solved for one in self.attempts)

    @property
    def pass_rate(self) -> float:
        return self.solved / len(self.attempts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Arm:
    """A run as one arm.

    :param results: by task id; tasks without any counted attempt are not in it.
    :param unscorable: attempts that ended as ``infra``: missing, never 0.
    """

    path: Path
    manifest: Manifest
    results: Mapping[str, TaskResult] = field(repr=False)
    unscorable: int = 0

    @property
    def planned(self) -> int:
        return len(self.manifest.tasks) * self.manifest.attempts

    @property
    def finished(self) -> int:
        return sum(len(result.attempts) for result in self.results.values())

    @property
    def not_run(self) -> int:
        """Planned attempts of which there is no record, as after an interrupted run."""
        return self.planned - self.finished - self.unscorable

    @property
    def missing_share(self) -> float:
        return 1 - self.finished / self.planned if self.planned else 0.0

    def attempts_per_task(self) -> tuple[int, int] | None:
        """The fewest and the most counted attempts of a planned task."""
        counts = [self.counted(task_id) for task_id in self.manifest.tasks]
        return (min(counts), max(counts)) if counts else None

    def counted(self, task_id: str) -> int:
        result = self.results.get(task_id)
        return len(result.attempts) if result else 0

    def observations(self) -> list[Observation]:
        return [one for result in self.results.values() for one in result.attempts]


def read_arm(path: Path) -> Arm:
    """Read a run folder.

    :raises BadInput: there is no run at ``path``, or a record of it is damaged.
    """
    manifest = read_manifest(path)
    attempts: dict[str, list[Observation]] = {}
    about: dict[str, Rollout] = {}
    unscorable = 0
    for rollout in read_rollouts(path):
        if rollout.task_id not in manifest.tasks or rollout.attempt >= manifest.attempts:
            continue  # not of this plan, so of no arm
        if rollout.outcome is Outcome.INFRA:
            unscorable += 1
            continue
        about.setdefault(rollout.task_id, rollout)
        attempts.setdefault(rollout.task_id, []).append(_observe(rollout))
    results = {
        task_id: TaskResult(
            task_id=task_id,
            cluster=about[task_id].cluster,
            kind=about[task_id].kind,
            difficulty=about[task_id].difficulty,
            attempts=tuple(attempts[task_id]),
        )
        for task_id in sorted(attempts)
    }
    return Arm(path=path, manifest=manifest, results=results, unscorable=unscorable)


def _observe(rollout: Rollout) -> Observation:
    own = [turn for turn in rollout.transcript.turns if not turn.auxiliary]
    held = rollout.transcript.blocked
    return Observation(
        solved=solved(rollout),
        calls=rollout.calls,
        turns=len(own),
        tokens=_tokens(own),
        seconds=rollout.seconds,
        blocked=rollout.outcome in BLOCKED,
        passed=rollout.verdict.passed if rollout.verdict else None,
        rules=frozenset(
            finding.rule
            for call in held
            for finding in call.findings
            if finding.severity is Severity.BLOCK
        ),
        blocked_calls=len(held),
        auxiliary_calls=sum(len(t.calls) for t in rollout.transcript.turns if t.auxiliary),
    )


def _tokens(turns: list[Turn]) -> int | None:
    total = 0
    for turn in turns:
        sampled = len(turn.sampled_ids) or turn.usage.get("completion_tokens")
        if sampled is None:
            return None  # not known is not 0
        total += sampled
    return total
