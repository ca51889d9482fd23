"""TRL's rollout worker over made-up sessions: its own thread, pinned versions, failures."""

from __future__ import annotations

import asyncio
import itertools
import queue
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from training import rollout, task

from harness_adapters.gateway.transcript import Decision, JudgedCall
from harness_adapters.plugins import Plugins
from harness_adapters.train import worker as worker_module
from harness_adapters.train.groups import Scoring, Visit
from harness_adapters.train.loop_thread import LoopThread
from harness_adapters.train.recipe import make_recipe
from harness_adapters.train.store import Version
from harness_adapters.train.worker import (
    MixedVersions,
    Replica,
    RolloutWorker,
    TrainingStopped,
    blocked_calls,
)
from harness_adapters.types import Finding, Rollout, Severity, Task

RECIPE = make_recipe(
    {
        "model": "m",
        "harness": "pi",
        "steps": 1,
        "rollouts": {"group_size": 2, "min_group": 2, "in_flight": 2, "max_staleness": 1},
    }
)


@dataclass
class Publisher:
    current: Version
    used: list[str] = field(default_factory=list)
    retired: int = 0

    @contextmanager
    def using(self, version: Version) -> Iterator[None]:
        self.used.append(version.name)
        yield

    async def retire(self) -> None:
        self.retired += 1


def version(number: int) -> Version:
    return Version(name=f"v{number}", number=number, step=number, path=Path("/nowhere"))


@dataclass(frozen=True)
class Setup:
    model: str = "base"


Session = Callable[[Task, str, int], Any]


class Stage:
    def __init__(self, url: str, session: Session) -> None:
        self.session = session
        self.recorded: list[Rollout] = []
        self.groups: list[dict[str, Any]] = []
        self.publisher = Publisher(version(0))
        self.steps = {f"v{number}": number for number in range(9)}
        self.thread = LoopThread("test")
        folder: Any = SimpleNamespace(
            path=Path("/nowhere"), add=self.recorded.append, log_dir=lambda name: Path(name)
        )
        training: Any = SimpleNamespace(add_group=self.groups.append)
        publisher: Any = self.publisher
        setup: Any = Setup()
        self.worker = RolloutWorker(
            thread=self.thread,
            replicas=(Replica(url=url, setup=setup),),
            publisher=publisher,
            recipe=RECIPE,
            scoring=Scoring(min_group=2, std_floor=0.05, scale="group", longest=100),
            waiting=(),
            visits=(Visit(index=n, task=task(f"t{n}"), first_attempt=0) for n in itertools.count()),
            steps=self.steps,
            run_folder=folder,
            training=training,
            plugins=Plugins(),
            convert=lambda row, since: row,
        )


@pytest.fixture
def port() -> Iterator[socket.socket]:
    """An engine that takes connections."""
    with closing(socket.create_server(("127.0.0.1", 0))) as listening:
        yield listening


@contextmanager
def working(
    port: socket.socket, monkeypatch: pytest.MonkeyPatch, session: Session
) -> Iterator[Stage]:
    stage = Stage(f"http://127.0.0.1:{port.getsockname()[1]}", session)

    async def run(task: Task, setup: Any, *, log_dir: Path, attempt: int) -> Rollout:
        made = session(task, setup.model, attempt)
        return await made if asyncio.iscoroutine(made) else made  # type: ignore[no-any-return]

    monkeypatch.setattr(worker_module, "rollout", run)
    with stage.thread:
        stage.worker.start()
        try:
            yield stage
        finally:
            stage.worker.stop()
            stage.worker.stop()


def unlike(task: Task, model: str, attempt: int) -> Rollout:
    return rollout(task.id, attempt, model=model, reward=float(attempt))


def test_rows_of_scored_groups_reach_the_trainer_with_their_version(
    port: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    with working(port, monkeypatch, unlike) as stage:
        rows = [stage.worker.rollout_buffer.get(timeout=60) for _ in range(4)]
    assert {row.version for row in rows} == {"v0"}
    assert [row.tag.group for row in rows] == [0, 0, 1, 1]
    assert {one.model for one in stage.recorded} == {"v0"}
    assert stage.groups[0]["fate"] == "ready" and stage.groups[0]["blocked"] == []
    keys = set().union(*(_drain(stage.worker.metrics_queue)))
    assert {"sessions/roots", "groups/ready_total", "advantage/efficiency_share"} <= keys


def _drain(metrics: queue.Queue[Any]) -> list[dict[str, Any]]:
    return [metrics.get_nowait() for _ in range(metrics.qsize())]


def test_what_waited_too_long_is_dropped_journalled_and_makes_room(
    port: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    with working(port, monkeypatch, unlike) as stage:
        assert stage.worker.rollout_buffer.get(timeout=60).step == 0
        stage.publisher.current = version(5)
        stage.worker.update_model_version(5)
        later = stage.worker.rollout_buffer.get(timeout=60)
        assert (later.step, later.version) == (5, "v5")
        stale = [group["group"] for group in stage.groups if group["fate"] == "stale"]
        assert stale[0] == 0 and later.tag.group > max(stale)
    dropped = [m for m in _drain(stage.worker.metrics_queue) if "dropped/under_10s" in m]
    assert sum(m["dropped/under_10s"][0] for m in dropped) > 0


def test_an_engine_that_is_gone_stops_the_trainer_at_once(
    port: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    """RF32: nobody hangs on a dead engine, though every session does."""
    begun = threading.Event()

    async def hang(task: Task, model: str, attempt: int) -> Rollout:
        begun.set()
        await asyncio.Event().wait()
        raise AssertionError("unreachable")

    with working(port, monkeypatch, hang) as stage:
        assert begun.wait(60)
        port.close()
        with pytest.raises(TrainingStopped, match="is gone"):
            stage.worker.rollout_buffer.get(timeout=60)
        with pytest.raises(TrainingStopped):
            stage.worker.check_health(300)


def test_a_turn_of_another_adapter_stops_it(
    port: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    """RF27: an adapter that is trained but never sampled from."""

    def base(task: Task, model: str, attempt: int) -> Rollout:
        return rollout(task.id, attempt, model="the-base", reward=float(attempt))

    with (
        working(port, monkeypatch, base) as stage,
        pytest.raises(MixedVersions, match="sampled by the-base"),
    ):
        stage.worker.rollout_buffer.get(timeout=60)


def test_sessions_that_can_never_be_scored_stop_it(
    port: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    """RF39: nothing is trained on nothing."""

    def broken(task: Task, model: str, attempt: int) -> Rollout:
        one = rollout(task.id, attempt, model=model, reward=None)
        return replace(one, error="the sandbox does not open")

    with (
        working(port, monkeypatch, broken) as stage,
        pytest.raises(TrainingStopped, match="could be scored: the sandbox does not open"),
    ):
        stage.worker.rollout_buffer.get(timeout=60)


def test_a_guard_rule_that_keeps_failing_stops_it(
    port: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    def faulty(task: Task, model: str, attempt: int) -> Rollout:
        one = rollout(task.id, attempt, model=model, reward=float(attempt))
        return replace(one, transcript=replace(one.transcript, guard_faults=("x.rule raised",)))

    with (
        working(port, monkeypatch, faulty) as stage,
        pytest.raises(TrainingStopped, match=r"at fault: x\.rule"),
    ):
        for _ in range(10):
            stage.worker.rollout_buffer.get(timeout=60)


def test_a_blocked_call_is_listed_without_its_arguments() -> None:
    one = rollout(model="m")
    call = JudgedCall(
        id="c",
        name="bash",
        arguments={"command": "secret"},
        decision=Decision.BLOCK,
        findings=(Finding(rule="tamper.tests", severity=Severity.BLOCK, message="no"),),
    )
    turn = replace(one.transcript.turns[0], calls=(call,))
    one = replace(one, transcript=replace(one.transcript, turns=(turn,)))
    assert blocked_calls([one]) == [
        {"task_id": "t0", "attempt": 0, "tool": "bash", "rules": ["tamper.tests"]}
    ]
