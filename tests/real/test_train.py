"""Training in real pi: real sandbox, real TRL, a real LoRA, over an engine with real adapters."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import psutil
import pytest
from command import ROOT, Ha
from tiny_models import tiny_model
from training_runs import adapter_engine, check_run, loaded, running, write_recipe

from harness_adapters.errors import MissingPrerequisite
from harness_adapters.record.folder import read_rollouts
from harness_adapters.serve.vllm.flags import vllm_python
from harness_adapters.train.folder import read_steps, read_training
from harness_adapters.train.names import AdapterName

pytestmark = [pytest.mark.timeout(1500)]


@pytest.mark.full
async def test_training_that_is_killed_goes_on_and_each_request_names_its_adapter(
    tmp_path: Path, ha: Ha
) -> None:
    model = tiny_model(tmp_path / "tiny-model")
    recipe = write_recipe(tmp_path, model, steps=2)
    run, requests = tmp_path / "run", tmp_path / "requests.log"
    with adapter_engine(model, requests) as url:
        with running(recipe, "--engine", url, "--out", run, cwd=tmp_path) as training:
            training.until("step 1")
            trainer = training.trainer()
            inside = trainer.children(recursive=True)
            trainer.kill()
            code, told = training.end()
        assert code == 1 and "ended with -9" in told["failures"][str(run)]
        psutil.wait_procs(inside, timeout=60)
        assert not [p for p in inside if p.is_running()], "its sandboxes go with it"

        with running("--resume", run, "--engine", url, cwd=tmp_path) as training:
            code, told = training.end()
        assert code == 0, told
        assert await loaded(url) == [], "nothing stays loaded"
    check_run(run, steps=2)
    (done,) = told["runs"]
    assert done["steps"] == 2
    assert (Path(done["path"]) / "adapter_model.safetensors").exists()

    # every request of a session named the adapter of its record, and no session another
    asked = Counter(
        name
        for path, name in map(json.loads, requests.read_text().splitlines())
        if path == "/v1/chat/completions"
    )
    answered = Counter(
        turn.model for rollout in read_rollouts(run) for turn in rollout.transcript.turns
    )
    del asked[str(model)]  # each start asks the base whether its logprobs are raw
    assert set(answered) <= set(asked) and all(answered[n] <= asked[n] for n in answered)
    assert all(name.startswith("tiny-model.pi.") for name in asked)

    # a non-zero adapter: the server says what the trainer computes, and the base does not
    last = read_steps(run)[2]
    assert last["metrics"]["canary/change_min"] > 1e-2
    assert last["metrics"]["canary/parity_max"] < 1e-3
    assert last["trained"] != last["rows"][0]["sampled"] or last["metrics"]["ratio"] == 1
    assert read_training(run).adapted["adapted_share"] > 0.1

    shown = ha("watch", run, "--json").json
    assert shown["step"] == 2 and shown["groups"]["ready"] >= 2
    assert list((tmp_path / "trackio").glob("*.db")), "the live view is kept on this machine"


@pytest.mark.full
@pytest.mark.parametrize("engine", ["embedded", "vllm"])
def test_three_steps_on_each_engine(engine: str, tmp_path: Path) -> None:
    """The claim of ``scripts/evidence train_engines``."""
    if engine == "vllm":
        try:
            vllm_python()
        except MissingPrerequisite as missing:
            pytest.skip(str(missing))
    script = ROOT / "scripts" / "claims" / "train_engines.py"
    done = subprocess.run(
        [sys.executable, script, tmp_path / "out.json", "--engines", engine],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    assert json.loads((tmp_path / "out.json").read_text())["holds"]


@pytest.mark.full
async def test_three_harnesses_train_side_by_side_on_one_engine(tmp_path: Path) -> None:
    model = tiny_model(tmp_path / "tiny-model")
    harnesses = ("pi", "opencode", "hermes")
    recipes = [
        write_recipe(tmp_path, model, steps=2, harness=harness, in_flight=2, budget=40_000)
        for harness in harnesses
    ]
    with adapter_engine(model, tmp_path / "requests.log") as url:
        words = ("--engine", url, "--out", tmp_path / "runs")
        with running(*recipes, *words, cwd=tmp_path) as training:
            code, told = training.end()
        assert code == 0, told
        assert await loaded(url) == []
    names = {AdapterName.parse(run["adapter"]) for run in told["runs"]}
    assert {name.harness for name in names if name} == set(harnesses)
    assert len({name.run for name in names if name}) == 3
    for harness in harnesses:
        run = tmp_path / "runs" / harness
        check_run(run, steps=2)
        assert all(not rollout.transcript.faults for rollout in read_rollouts(run))
        assert all(f".{harness}." in rollout.model for rollout in read_rollouts(run))


@pytest.mark.full
def test_kill_9_at_random_moments(tmp_path: Path) -> None:
    """The claim of ``scripts/evidence train_kills``, smaller."""
    script = ROOT / "scripts" / "claims" / "train_kills.py"
    done = subprocess.run(
        [sys.executable, script, tmp_path / "out.json", "--kills", "5"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr[-4000:]
