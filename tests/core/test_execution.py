"""Interleaving: drift must hit all arms alike."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from harness_adapters import Task, TaskMetadata
from harness_adapters.execution import interleaved

sizes = st.integers(min_value=1, max_value=7)


def task(number: int) -> Task:
    metadata = TaskMetadata(kind="qa", cluster="c")
    return Task(id=f"t{number}", instruction="do", path=Path(), metadata=metadata)


@given(tasks=sizes, attempts=sizes, arms=sizes)
def test_every_attempt_is_made_by_all_arms_in_turn(tasks: int, attempts: int, arms: int) -> None:
    jobs = interleaved([task(number) for number in range(tasks)], attempts, arms)
    rounds = [jobs[start : start + arms] for start in range(0, len(jobs), arms)]
    assert len(rounds) == tasks * attempts
    for turn in rounds:
        assert len({(job.task.id, job.attempt) for job in turn}) == 1
        assert sorted(job.arm for job in turn) == list(range(arms))
    assert len({(job.task.id, job.attempt, job.arm) for job in jobs}) == len(jobs)
    first = Counter(turn[0].arm for turn in rounds)
    assert max(first.values()) - min(first.get(arm, 0) for arm in range(arms)) <= 1
