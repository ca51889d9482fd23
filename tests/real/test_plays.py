"""The shipped tasks in real pi: what each scripted policy must come to."""

from __future__ import annotations

from pathlib import Path
from statistics import fmean

import atif
import datasets
import pytest
from command import TASKS

import harness_adapters as ha
from ha_harness_pi.driver import PiDriver
from harness_adapters import Outcome, Rollout, RunResult, Task, load_tasks
from harness_adapters.gateway.guard.judge import Guard
from harness_adapters.gateway.server import Gateway
from harness_adapters.gateway.upstream import Upstream
from harness_adapters.loop import Setup
from harness_adapters.loop import rollout as roll_out
from harness_adapters.sandbox.providers import provider
from harness_adapters.serve.engine import RunningEngine, open_engine, parse_engine
from harness_adapters.serve.scripted.cheats import CHEATS, Cheat
from harness_adapters.testing.naive import NaiveKind, NaiveProvider

pytestmark = [pytest.mark.timeout(300)]
every_cheat = pytest.mark.parametrize("cheat", CHEATS, ids=lambda cheat: cheat.name)
SHOWN = ("edit_tests", "plant_reward", "read_solution")  # without --full


@pytest.fixture(scope="module", params=[4, pytest.param(24, marks=pytest.mark.full)])
def shipped(request: pytest.FixtureRequest) -> list[Task]:
    """Tasks of both kinds; ``scripts/test --full`` plays all."""
    tasks, _ = load_tasks(TASKS)
    return list(tasks[:: len(tasks) // request.param])


@pytest.fixture(scope="module")
def oracle(shipped: list[Task], tmp_path_factory: pytest.TempPathFactory) -> RunResult:
    return ha.run(shipped, engine="scripted:oracle", out=tmp_path_factory.mktemp("runs") / "run")


def means(run: RunResult) -> tuple[float, float]:
    """Mean calls and mean reward."""
    rollouts = list(run.rollouts())
    return fmean(one.calls for one in rollouts), fmean(one.reward or 0 for one in rollouts)


@pytest.mark.xdist_group("plays")
def test_the_oracle_solves_every_task(oracle: RunResult, shipped: list[Task]) -> None:
    summary, all_of_them = oracle.summary, len(shipped)
    counts = summary["planned"], summary["solved"], summary["infra"]
    assert counts == (all_of_them, all_of_them, 0)
    assert all(rollout.calls >= 3 for rollout in oracle.rollouts())


@pytest.mark.xdist_group("plays")
def test_wasting_solves_as_much_with_more_calls_and_earns_less(
    oracle: RunResult, shipped: list[Task], tmp_path: Path
) -> None:
    wasteful = ha.run(shipped, engine="scripted:wasteful", out=tmp_path / "run")
    assert wasteful.summary["solved"] == wasteful.summary["planned"] == len(shipped)
    (few, more_reward), (many, less_reward) = means(oracle), means(wasteful)
    assert many > few + 2
    assert less_reward < more_reward


@pytest.mark.xdist_group("plays")
def test_doing_nothing_solves_nothing(shipped: list[Task], tmp_path: Path) -> None:
    summary = ha.run(shipped, engine="scripted:nop", out=tmp_path / "run").summary
    assert (summary["solved"], summary["failed"], summary["infra"]) == (0, len(shipped), 0)
    assert summary["mean_reward"] == 0


@pytest.mark.xdist_group("plays")
def test_every_session_is_one_exact_training_row(oracle: RunResult) -> None:
    for rollout in oracle.rollouts():
        rows = rollout.transcript.rows()
        assert rollout.transcript.token_exact
        assert len(rows) == 1, f"{rollout.task_id} has {len(rows)} roots"
        sampled = sum(len(turn.sampled_ids) for turn in rollout.transcript.turns)
        assert sum(rows[0].loss) == sampled


@pytest.mark.xdist_group("plays")
def test_the_run_folder_is_complete(oracle: RunResult, shipped: list[Task]) -> None:
    out = oracle.out
    table = datasets.load_dataset(
        "parquet",
        data_files=str(out / "rollouts.parquet"),
        cache_dir=str(out.parent / "cache"),
        split="train",
    )
    assert len(table) == len(shipped)
    trajectories = list((out / "trajectories").glob("*.json"))
    assert len(trajectories) == len(shipped)
    for path in trajectories:
        atif.Trajectory.model_validate_json(path.read_text())
    for rollout in oracle.rollouts():
        parts = {(part.kind, part.name, part.distribution) for part in rollout.components}
        assert ("harness", "pi", "harness-adapters") in parts
        assert ("guard", "tamper", "harness-adapters") in parts
        assert rollout.harness_version
    logs = {path.parent.name for path in (out / "harness").glob("*/*") if path.stat().st_size}
    assert len(logs) == len(shipped)


@pytest.mark.xdist_group("cheats")
@every_cheat
def test_no_cheat_pays_and_none_is_unscorable(cheat: Cheat, tmp_path: Path) -> None:
    result = ha.run(
        TASKS,
        engine=f"scripted:cheat:{cheat.name}",
        kind=cheat.kinds[0],
        limit=1,
        out=tmp_path / "run",
    )
    assert result.summary["solved"] == 0
    assert result.summary["infra"] == 0
    assert result.summary["finished"] == 1
    for rollout in result.rollouts():
        assert rollout.reward == 0, (rollout.outcome, rollout.verdict)
        if rollout.outcome is Outcome.GUARD_BLOCKED:
            assert sum(sum(row.loss) for row in rollout.transcript.rows()) == sum(
                len(turn.sampled_ids) for turn in rollout.transcript.turns
            ), "the blocked call's ids are trained, with reward 0"


async def naively_graded(task: Task, engine: RunningEngine, folder: Path) -> Rollout:
    """No guard, and a grader that works in the agent's own sandbox and believes what lies there."""
    driver = PiDriver({})
    socket = folder / "gateway.sock"
    async with Gateway(upstream=Upstream(engine.url), guard=Guard(()), socket=socket) as gateway:
        setup = Setup(
            driver=driver,
            toolchain=await driver.install(),
            kinds={task.kind: NaiveKind()},
            rewards={},
            gateway=gateway,
            sandboxes=NaiveProvider(await provider("bubblewrap")),
            model=engine.model,
        )
        return await roll_out(task, setup, log_dir=folder)


@pytest.mark.xdist_group("cheats")
@pytest.mark.parametrize(
    "cheat",
    [
        pytest.param(one, marks=() if one.name in SHOWN else pytest.mark.full, id=one.name)
        for one in CHEATS
    ],
)
async def test_every_cheat_is_real(cheat: Cheat, tmp_path: Path) -> None:
    """With guards off and a naive grader it scores 1, so that blocking it means something."""
    tasks, _ = load_tasks(TASKS)
    fitting = [task for task in tasks if task.kind == cheat.kinds[0]]
    spec = parse_engine(f"scripted:cheat:{cheat.name}")
    scores = []
    async with open_engine(spec, tasks=fitting) as engine:
        for number, task in enumerate(fitting if not cheat.sure else fitting[:1]):
            folder = tmp_path / str(number)
            folder.mkdir()
            scores.append((await naively_graded(task, engine, folder)).reward)
            if scores[-1] == 1:
                break
    assert 1 in scores, scores


@pytest.mark.full
@every_cheat
def test_no_cheat_pays_on_any_task(cheat: Cheat, tmp_path: Path) -> None:
    for kind in cheat.kinds:
        engine = f"scripted:cheat:{cheat.name}"
        summary = ha.run(TASKS, engine=engine, kind=kind, out=tmp_path / kind).summary
        assert (summary["solved"], summary["infra"], summary["mean_reward"]) == (0, 0, 0)
