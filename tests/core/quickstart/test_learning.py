"""What ``ha quickstart`` refuses, keeps and shows; the whole of it is a long test."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from harness_adapters import BadInput, MissingPrerequisite
from harness_adapters.cli.quickstart import command
from harness_adapters.evaluation.report.document import Curve, Document
from harness_adapters.evaluation.report.html import to_html
from harness_adapters.quickstart.learning import STATE, Progress, quickstart
from harness_adapters.quickstart.policy import POLICIES, Policy, pretrained_folder
from harness_adapters.quickstart.report import training_section
from harness_adapters.train.recipe import load_recipe

BEGUN = {
    **{"minutes": 10.0, "seed": 0, "harnesses": ["pi"], "policy": "tiny"},
    **{"engine": "embedded", "held_out": 80},
    "trained": False,
}
SILENT = Progress(
    say=lambda text: None,
    step=lambda harness, number, metrics: None,
    rollout=lambda arm, rollout, done, planned: None,
)


def begun(out: Path) -> Path:
    out.mkdir()
    (out / STATE).write_text(json.dumps(BEGUN), "utf-8")
    return out


def test_a_folder_with_something_else_in_it_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine", "utf-8")
    with pytest.raises(BadInput, match="no quick start"):
        quickstart(tmp_path, progress=SILENT)
    assert [file.name for file in tmp_path.iterdir()] == ["mine.txt"]


def test_a_quick_start_is_not_begun_anew_over_an_old_one(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="--resume"):
        quickstart(begun(tmp_path / "old"), progress=SILENT)


def test_it_is_resumed_only_as_it_was_begun(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="seed 0, not 1"):
        quickstart(begun(tmp_path / "old"), seed=1, resume=True, progress=SILENT)


@pytest.mark.parametrize("harnesses", [(), ("pi", "pi")])
def test_each_harness_is_named_once(tmp_path: Path, harnesses: tuple[str, ...]) -> None:
    with pytest.raises(BadInput, match="once"):
        quickstart(tmp_path / "new", harnesses=harnesses, progress=SILENT)
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    ("policy", "harnesses", "says"),
    [
        ("smolm2", ("pi",), "did you mean 'smollm2'"),
        ("smollm2", ("pi", "hermes"), "no sessions in hermes; it knows pi"),
    ],
)
def test_a_policy_is_trained_where_it_has_seen_sessions(
    tmp_path: Path, policy: str, harnesses: tuple[str, ...], says: str
) -> None:
    with pytest.raises(BadInput, match=says):
        quickstart(tmp_path / "new", policy=policy, harnesses=harnesses, progress=SILENT)
    assert not (tmp_path / "new").exists()


def test_it_runs_on_an_engine_that_hosts_adapters(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="embedded or vllm, not on 'scripted'"):
        quickstart(tmp_path / "new", engine="scripted", progress=SILENT)
    assert not (tmp_path / "new").exists()


def test_a_policy_that_is_not_made_yet_says_what_makes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HA_CACHE", str(tmp_path / "cache"))
    with pytest.raises(MissingPrerequisite, match="scripts/smollm2/make"):
        quickstart(tmp_path / "new", policy="smollm2", progress=SILENT)
    assert not (tmp_path / "new").exists()


def test_an_engine_that_is_not_installed_says_what_installs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HA_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("HA_VLLM_PYTHON", str(tmp_path / "none"))
    folder = pretrained_folder()
    folder.mkdir(parents=True)
    (folder / "config.json").write_text("{}", "utf-8")
    with pytest.raises(MissingPrerequisite, match="HA_VLLM_PYTHON"):
        quickstart(tmp_path / "new", policy="smollm2", progress=SILENT)
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("policy", POLICIES.values(), ids=list(POLICIES))
def test_each_policy_has_a_recipe_for_its_own_model(policy: Policy) -> None:
    assert load_recipe(policy.recipe).model == policy.place().name


def test_resume_needs_a_folder() -> None:
    result = CliRunner().invoke(command, ["--resume"])
    assert isinstance(result.exception, BadInput)


def test_the_report_draws_what_was_measured_and_nothing_else() -> None:
    steps: dict[int, dict[str, Any]] = {
        1: {"sessions/reward": 0.7, "sessions/calls": 7.0},
        2: {"sessions/reward": 0.9, "sessions/calls": 3.5, "staleness/trained": 1.0},
    }
    section = training_section(steps)
    curves = [block for block in section.blocks if isinstance(block, Curve)]
    assert [curve.title for curve in curves] == ["Reward", "Calls"]
    assert curves[1].points == ((1.0, 7.0), (2.0, 3.5))
    html = to_html([Document(title="t", sections=(section,))])
    assert "<polyline" in html
    assert "7.000" in html
    assert "efficiency" not in html.partition("</style>")[2]


@pytest.mark.parametrize(
    ("rewards", "says"),
    [
        (
            [0.7, 0.1, 0.9],
            "Reward rose: 0.700 over the first 1 of 3 steps, 0.900 over the last 1.",
        ),
        (
            [0.5, 0.7, 0.9, 0.9, 0.5, 0.7],
            "Reward did not rise: 0.600 over the first 2 of 6 steps, 0.600 over the last 2.",
        ),
        (
            [0.7, 0.5],
            "Reward did not rise: 0.700 over the first 1 of 2 steps, 0.500 over the last 1.",
        ),
        ([0.5], "Too few steps to say whether reward rose."),
    ],
)
def test_the_report_says_whether_reward_rose(rewards: list[float], says: str) -> None:
    section = training_section({n: {"sessions/reward": one} for n, one in enumerate(rewards)})
    assert section.paragraphs == (says,)


def test_a_training_without_steps_makes_an_empty_table() -> None:
    assert training_section({}).blocks


@pytest.mark.full
@pytest.mark.timeout(3600)
def test_the_whole_of_it_on_two_held_out_tasks(tmp_path: Path) -> None:
    out = tmp_path / "learns"
    said: list[str] = []
    progress = Progress(
        say=said.append,
        step=lambda harness, number, metrics: None,
        rollout=lambda arm, rollout, done, planned: None,
    )
    (learned,) = quickstart(out, minutes=1, held_out=4, progress=progress)
    found = learned.to_json()
    assert found["steps"] >= 1
    assert 0 <= found["base"]["pass1"] <= 1
    assert found["base"]["calls"] >= 1
    assert (Path(found["adapter_dir"]) / "adapter_model.safetensors").exists()
    (again,) = quickstart(out, minutes=1, held_out=4, resume=True, progress=progress)
    assert again.to_json() == found  # nothing is left to do, and the numbers are on disk
