"""Evaluations on the development tasks beside training, over made-up sessions."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from run_folders import manifest
from training import rollout, task

from harness_adapters.record.folder import read_manifest, read_rollouts
from harness_adapters.train.development import Development
from harness_adapters.train.store import Version
from harness_adapters.types import Rollout, Task


def version(step: int | None) -> Version:
    return Version(name=f"m.pi.RUN.v{step}", number=1, step=step, path=Path("/nowhere"))


class Stage:
    """A stand-in for worker and publisher."""

    def __init__(self) -> None:
        self.told: list[dict[str, Any]] = []
        self.held: Counter[str] = Counter()
        self.played: list[tuple[str, str, int]] = []
        self.playing, self.gate = asyncio.Event(), asyncio.Event()
        self.gate.set()
        self.infra: set[str] = set()

    @contextmanager
    def using(self, version: Version) -> Iterator[None]:
        self.held[version.name] += 1
        try:
            yield
        finally:
            self.held[version.name] -= 1

    async def play(self, version: Version, task: Task, attempt: int, log_dir: Path) -> Rollout:
        assert self.held[version.name] == 1, "it stays loaded"
        assert log_dir.is_dir()
        self.playing.set()
        await self.gate.wait()
        self.played.append((version.name, task.id, attempt))
        reward = None if task.id in self.infra else float(task.id != "hard")
        return rollout(task.id, attempt, model=version.name, reward=reward)

    def development(self, run: Path, **changes: Any) -> Development:
        given: dict[str, Any] = {
            "tasks": [task("easy"), task("hard")],
            "every": 5,
            "run": run,
            "manifest": manifest(attempts=2, concurrency=2, infra_retries=1),
            "done": (),
            "play": self.play,
            "using": self.using,
            "tell": self.told.append,
        }
        return Development(**(given | changes))


async def test_a_version_whose_turn_it_is_plays_all_tasks_and_is_recorded(tmp_path: Path) -> None:
    stage = Stage()
    development = stage.development(tmp_path)
    for step in (None, 3, 5, 6):
        await development.begin(version(step))
    await development.finish()
    assert Counter(stage.played) == Counter(
        {("m.pi.RUN.v5", name, attempt): 1 for name in ("easy", "hard") for attempt in (0, 1)}
    )
    (told,) = stage.told
    assert (told["step"], told["planned"], told["finished"], told["solved"]) == (5, 4, 4, 2)
    assert (told["mean_reward"], told["adapter"]) == (0.5, "m.pi.RUN.v5")
    folder = tmp_path / "evaluations" / "step-5"
    assert read_manifest(folder).model == "m.pi.RUN.v5"
    assert len(list(read_rollouts(folder))) == 4
    assert (folder / "rollouts.parquet").exists()
    assert not +stage.held


async def test_the_base_before_any_step_is_the_first(tmp_path: Path) -> None:
    stage = Stage()
    development = stage.development(tmp_path)
    await development.begin(version(0))
    await development.finish()
    assert [told["step"] for told in stage.told] == [0]


@pytest.mark.parametrize("changes", [{"tasks": []}, {"every": 0}])
async def test_nothing_is_evaluated_without_tasks_or_when_not_asked_for(
    tmp_path: Path, changes: dict[str, Any]
) -> None:
    stage = Stage()
    development = stage.development(tmp_path, **changes)
    await development.begin(version(5))
    await development.finish()
    assert not stage.told and not (tmp_path / "evaluations").exists()


async def test_one_that_takes_long_is_not_waited_for(tmp_path: Path) -> None:
    stage = Stage()
    stage.gate.clear()
    development = stage.development(tmp_path)
    await development.begin(version(5))
    await asyncio.sleep(0)
    await development.begin(version(10))
    stage.gate.set()
    await development.finish()
    await development.begin(version(15))
    await development.finish()
    assert [told["step"] for told in stage.told] == [5, 15]


async def test_what_an_earlier_process_evaluated_is_not_done_again(tmp_path: Path) -> None:
    stage = Stage()
    development = stage.development(tmp_path, done=[5])
    await development.begin(version(5))
    await development.finish()
    assert not stage.told


async def test_half_of_one_is_begun_anew(tmp_path: Path) -> None:
    stage = Stage()
    stage.gate.clear()
    first = stage.development(tmp_path)
    await first.begin(version(5))
    await stage.playing.wait()
    await first.stop()
    assert not stage.told and not +stage.held
    stage.gate.set()
    second = stage.development(tmp_path)
    await second.begin(Version(name="m.pi.RUN.v9", number=9, step=5, path=Path("/nowhere")))
    await second.finish()
    assert [told["adapter"] for told in stage.told] == ["m.pi.RUN.v9"]


async def test_what_cannot_be_scored_is_missing_and_no_zero(tmp_path: Path) -> None:
    stage = Stage()
    stage.infra = {"hard"}
    development = stage.development(tmp_path)
    await development.begin(version(5))
    await development.finish()
    (told,) = stage.told
    assert (told["planned"], told["finished"], told["infra"], told["mean_reward"]) == (4, 2, 2, 1.0)


async def test_what_stops_an_evaluation_is_not_swallowed(tmp_path: Path) -> None:
    async def play(version: Version, task: Task, attempt: int, log_dir: Path) -> Rollout:
        raise OSError("disk full")

    development = Stage().development(tmp_path, play=play)
    await development.begin(version(5))
    with pytest.raises(OSError, match="disk full"):
        await development.finish()
