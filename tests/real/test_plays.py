"""The shipped tasks in real pi: what each scripted policy must come to."""

from __future__ import annotations

from pathlib import Path

import atif
import datasets
import pytest
from command import TASKS, Ha

import harness_adapters
from harness_adapters import Outcome
from harness_adapters.serve.scripted.cheats import CHEATS

pytestmark = [pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, harness_adapters.RunResult]:
    folder = tmp_path_factory.mktemp("runs")
    return {
        play: harness_adapters.run(TASKS, engine=f"scripted:{play}", out=folder / play)
        for play in ("oracle", "wasteful", "nop")
    }


@pytest.mark.xdist_group("plays")
def test_the_oracle_solves_every_task(runs: dict[str, harness_adapters.RunResult]) -> None:
    summary = runs["oracle"].summary
    assert (summary["planned"], summary["solved"], summary["infra"]) == (24, 24, 0)
    assert (summary["mean_calls"] or 0) >= 3


@pytest.mark.xdist_group("plays")
def test_wasting_solves_as_much_with_more_calls_and_earns_less(
    runs: dict[str, harness_adapters.RunResult],
) -> None:
    oracle, wasteful = runs["oracle"].summary, runs["wasteful"].summary
    assert wasteful["solved"] == 24
    assert (wasteful["mean_calls"] or 0) > (oracle["mean_calls"] or 0)
    assert (wasteful["mean_reward"] or 0) < (oracle["mean_reward"] or 0)


@pytest.mark.xdist_group("plays")
def test_doing_nothing_solves_nothing(runs: dict[str, harness_adapters.RunResult]) -> None:
    summary = runs["nop"].summary
    assert (summary["solved"], summary["failed"], summary["infra"]) == (0, 24, 0)
    assert summary["mean_reward"] == 0


@pytest.mark.xdist_group("plays")
def test_every_session_is_one_exact_training_row(
    runs: dict[str, harness_adapters.RunResult],
) -> None:
    for rollout in runs["oracle"].rollouts():
        rows = rollout.transcript.rows()
        assert rollout.transcript.token_exact
        assert len(rows) == 1, f"{rollout.task_id} has {len(rows)} roots"
        sampled = sum(len(turn.sampled_ids) for turn in rollout.transcript.turns)
        assert sum(rows[0].loss) == sampled


@pytest.mark.xdist_group("plays")
def test_the_run_folder_is_complete(runs: dict[str, harness_adapters.RunResult]) -> None:
    out = runs["oracle"].out
    table = datasets.load_dataset(
        "parquet",
        data_files=str(out / "rollouts.parquet"),
        cache_dir=str(out.parent / "cache"),
        split="train",
    )
    assert len(table) == 24
    trajectories = list((out / "trajectories").glob("*.json"))
    assert len(trajectories) == 24
    for path in trajectories:
        atif.Trajectory.model_validate_json(path.read_text())
    for rollout in runs["oracle"].rollouts():
        parts = {(part.kind, part.name, part.distribution) for part in rollout.components}
        assert ("harness", "pi", "harness-adapters") in parts
        assert ("guard", "tamper", "harness-adapters") in parts
        assert rollout.harness_version
    logs = {path.parent.name for path in (out / "harness").glob("*/*") if path.stat().st_size}
    assert len(logs) == 24


@pytest.mark.xdist_group("cheats")
@pytest.mark.parametrize("name", sorted(CHEATS))
def test_no_cheat_pays_and_none_is_unscorable(name: str, tmp_path: Path) -> None:
    result = harness_adapters.run(
        TASKS,
        engine=f"scripted:cheat:{name}",
        kind=sorted(CHEATS[name].kinds)[0],
        limit=2,
        concurrency=2,
        out=tmp_path / "run",
    )
    assert result.summary["solved"] == 0
    assert result.summary["infra"] == 0
    assert result.summary["finished"] == 2
    for rollout in result.rollouts():
        assert rollout.reward == 0, (rollout.outcome, rollout.verdict)
        if rollout.outcome is Outcome.GUARD_BLOCKED:
            assert sum(sum(row.loss) for row in rollout.transcript.rows()) == sum(
                len(turn.sampled_ids) for turn in rollout.transcript.turns
            ), "the blocked call's ids are trained, with reward 0"


@pytest.mark.full
@pytest.mark.parametrize("name", sorted(CHEATS))
def test_no_cheat_pays_on_any_task(name: str, tmp_path: Path, ha: Ha) -> None:
    for kind in sorted(CHEATS[name].kinds):
        out = tmp_path / kind
        done = ha(
            *("run", TASKS, "--engine", f"scripted:cheat:{name}", "--kind", kind),
            *("--out", out, "--json"),
        )
        assert done.json["solved"] == 0 and done.json["mean_reward"] == 0, done.stdout
        assert done.json["infra"] == 0
