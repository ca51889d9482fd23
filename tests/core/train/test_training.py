"""What ``ha train`` refuses before it starts anything, and what it makes of several recipes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from command import TASKS

import harness_adapters as ha
from harness_adapters.cli.train import command, step_line
from harness_adapters.errors import BadInput
from harness_adapters.train.recipe import Recipe, make_recipe
from harness_adapters.train.training import train
from harness_adapters.train.wanted import engine_specs, wanted_runs


def recipe(**changes: object) -> Recipe:
    fields: dict[str, object] = {
        "model": "org/model",
        "harness": "pi",
        "steps": 3,
        "tasks": {"path": str(TASKS), "held_out": {"repository": 0, "data": 0}},
    }
    return make_recipe({**fields, **changes})


def test_the_package_is_called_like_the_function() -> None:
    with pytest.raises(BadInput, match="no recipe"):
        ha.train([])


def test_each_recipe_gets_a_folder_of_its_own(tmp_path: Path) -> None:
    (one,) = wanted_runs([recipe()], out=tmp_path / "r", steps=None, resume=False)
    assert one.out == tmp_path / "r"
    several = wanted_runs(
        [recipe(), recipe(harness="opencode"), recipe()], out=tmp_path, steps=5, resume=False
    )
    names = [one.out.name for one in several]
    assert names == ["model.pi.1", "model.opencode", "model.pi.3"]
    assert {one.recipe.steps for one in several} == {5}


def test_an_engine_that_is_started_here_serves_the_recipes_model(tmp_path: Path) -> None:
    wanted = wanted_runs([recipe()], out=tmp_path, steps=None, resume=False)
    (spec,) = engine_specs("embedded", wanted, resume=False)
    assert str(spec) == "embedded:org/model"
    with pytest.raises(BadInput, match="does not serve org/model"):
        engine_specs("embedded:/models/other", wanted, resume=False)
    both = [*wanted, *wanted_runs([recipe(model="org/b")], out=tmp_path, steps=None, resume=False)]
    with pytest.raises(BadInput, match="these recipes train 2"):
        engine_specs("vllm", both, resume=False)


@pytest.mark.parametrize(
    ("engine", "message"),
    [
        ("scripted:oracle", "has no adapters to train"),
        (None, "name an engine"),
        (["embedded", "http://a"], "give their URLs"),
        ("embeded", "no engine 'embeded'"),
    ],
)
def test_engines_that_cannot_train(
    engine: str | list[str] | None, message: str, tmp_path: Path
) -> None:
    with pytest.raises(BadInput, match=message):
        train(recipe(), engine=engine, out=tmp_path / "r")
    assert not (tmp_path / "r").exists()


def test_a_task_set_or_component_that_is_not_there_starts_nothing(tmp_path: Path) -> None:
    out = tmp_path / "r"
    with pytest.raises(BadInput, match="path: missing"):
        train(recipe(tasks={}), engine="http://127.0.0.1:9", out=out)
    with pytest.raises(BadInput, match="no harness"):
        train(recipe(harness="piii"), engine="http://127.0.0.1:9", out=out)
    with pytest.raises(BadInput, match="no engine answers at"):
        train(recipe(), engine="http://127.0.0.1:9", out=out)
    assert not out.exists()


def test_resuming_what_is_no_run_says_so(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="no training run"):
        train(str(tmp_path), resume=True)
    with pytest.raises(BadInput, match="name the run folders"):
        train(recipe(), resume=True)


def test_bad_input_is_one_line_and_exit_code_2(tmp_path: Path) -> None:
    from harness_adapters.cli import main

    with pytest.raises(SystemExit) as ended:
        main(["train", str(tmp_path / "none.toml"), "--engine", "embedded"])
    assert ended.value.code == 2


def test_help_has_examples() -> None:
    shown = CliRunner().invoke(command, ["--help"])
    assert shown.exit_code == 0 and "ha train --resume runs/first" in shown.output


def test_a_step_for_a_person_leaves_out_what_was_not_measured() -> None:
    line = step_line(3, {"loss": -0.5, "ratio": 1.0, "sessions/solved": None})
    assert line == "step 3  loss -0.5000  ratio 1.0000"


def test_watch_counts_a_step_that_was_trained_again_once(tmp_path: Path) -> None:
    from contextlib import closing

    from harness_adapters.cli.watch import View
    from harness_adapters.train.folder import TrainingFolder

    view = View(tmp_path)
    with closing(TrainingFolder(tmp_path)) as folder:
        for step, loss in ((1, 0.1), (2, 0.2), (2, 0.3)):
            record = {"step": step, "trained": "v", "rows": [], "metrics": {"loss": loss}}
            folder.add_step(record)
        call = {"task_id": "t", "attempt": 1, "tool": "bash", "rules": ["tamper.tests"]}
        folder.add_group({"group": 0, "fate": "ready", "blocked": [call]})
        view.look()
        view.look()
        folder.add_group({"group": 0, "fate": "stale"})
        view.look()
    shown = json.loads(json.dumps(view.to_json()))
    assert (shown["step"], shown["metrics"]) == (2, {"loss": 0.3})
    assert shown["groups"] == {"stale": 1}
    assert shown["blocked_by_rule"] == {"tamper.tests": 1}
    assert shown["last_blocked"] == [call]
    assert len(view.steps) == 2


def test_what_is_evaluated_on_is_what_the_recipe_says(tmp_path: Path) -> None:
    from command import TASKS

    from harness_adapters.train.preparation import capped_mixture
    from harness_adapters.train.recipe import make_recipe

    def dev(**evaluation: int) -> list[str]:
        tasks = {"path": TASKS, "held_out": {"repository": 0, "data": 0}}
        fields = {"model": "m", "harness": "pi", "steps": 1, "tasks": tasks}
        mixed = capped_mixture(make_recipe({**fields, "evaluation": evaluation}))
        assert all(task.limits.max_output_tokens == 32_768 for task in mixed.dev)
        return [task.id for task in mixed.dev]

    assert len(dev()) > 2
    assert dev(limit=2) == dev()[:2]
    assert dev(every=0) == []
