from __future__ import annotations

import json
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from harness_adapters.doctor.line import Status
from harness_adapters.plugins import Plugins
from harness_adapters.train import machine
from harness_adapters.train.machine import Gpu, model_folder, packages
from harness_adapters.train.needs import Needs, examine, recipe_mixture
from harness_adapters.train.recipe import make_recipe

EXAMPLES = Path(__file__).parents[3] / "examples" / "tasks"
HELD_OUT = {"repository": 2, "data": 3}
GIB = 2**30


@pytest.fixture(scope="module")
def plugins() -> Plugins:
    return Plugins.load()


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return written_model(tmp_path / "tiny")


def written_model(folder: Path) -> Path:
    folder.mkdir(parents=True)
    tensors = {"layers.0.q_proj.weight": [16, 8], "layers.0.mlp.experts.gate_up_proj": [4, 8, 8]}
    header = json.dumps({name: {"shape": shape} for name, shape in tensors.items()})
    (folder / "model.safetensors").write_bytes(len(header).to_bytes(8, "little") + header.encode())
    config = {
        "num_hidden_layers": 1,
        "hidden_size": 8,
        "num_attention_heads": 2,
        "max_position_embeddings": 4096,
    }
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "tokenizer.json").write_text("{}")
    return folder


def checked(plugins: Plugins, fields: Mapping[str, Any]) -> Needs:
    basis = make_recipe(
        {
            "model": "org/none",
            "harness": "pi",
            "steps": 2,
            "tasks": {"path": str(EXAMPLES), "held_out": HELD_OUT},
            "rollouts": {"max_output_tokens": 512},
            "optimizer": {"dtype": "float32", "token_budget": 8192},
        }
    )
    return examine(basis.replace(fields), plugins)


def texts(found: Needs, topic: str) -> str:
    return " | ".join(line.text for line in found.lines[topic])


def test_a_recipe_that_can_run_lacks_nothing(plugins: Plugins, model: Path) -> None:
    found = checked(plugins, {"model": str(model)})
    assert found.missing == []
    assert "2 steps of GRPO" in texts(found, "run") and "7 adapter slots" in texts(found, "run")
    assert "harness pi" in texts(found, "plugins")
    assert "held out" in texts(found, "tasks")
    assert "serve with --max-model-len 4096" in texts(found, "rows")
    assert "work space comes on top" in texts(found, "memory")
    assert found.memory is not None and found.memory.weights == 4 * (128 + 256)
    assert "67% of the parameters are experts" in texts(found, "model")


@pytest.mark.parametrize(
    ("fields", "topic", "said"),
    [
        ({"harness": "pie"}, "plugins", "no harness 'pie'; did you mean 'pi'"),
        ({"guards": ("tampr",)}, "plugins", "no guard 'tampr'; did you mean 'tamper'"),
        (
            {"options": {"rewards": {"tool_efficiency": {"wieght": 1}}}},
            "plugins",
            "no option 'wieght'; did you mean 'weight'",
        ),
        ({"tasks": {"path": None}}, "tasks", "[tasks] path: missing"),
        ({"tasks": {"path": "/nowhere"}}, "tasks", "there is no such folder"),
        ({"tasks": {"held_out": {"data": 150}}}, "tasks", "ask for fewer"),
        ({"tasks": {"weights": {"qa": 1.0}}}, "tasks", "none for the kind 'repair'"),
        ({"model": "nowhere"}, "model", "no folder here and no id on the Hub"),
        (
            {"rollouts": {"max_output_tokens": 8192}},
            "rows",
            "leaves no room for a prompt in rows of 8,192 tokens",
        ),
    ],
)
def test_what_is_missing_is_named(
    plugins: Plugins, fields: Mapping[str, Any], topic: str, said: str
) -> None:
    found = checked(plugins, fields)
    assert any(said in text for text in found.missing)
    line = next(line for line in found.lines[topic] if line.status is Status.FAIL)
    assert line.fix


def test_no_guard_at_all_is_a_warning(plugins: Plugins) -> None:
    found = checked(plugins, {"guards": ()})
    assert "no guard watches this run" in texts(found, "plugins")


def test_a_lora_that_reaches_nothing_is_named(plugins: Plugins, model: Path) -> None:
    found = checked(plugins, {"model": str(model), "lora": {"target_modules": ("k_proj",)}})
    assert "[lora] target_modules: no linear layer of the model has such a name" in found.missing
    assert any("use one of q_proj" in line.fix for line in found.lines["model"])


def test_a_model_without_all_its_files_is_named(plugins: Plugins, model: Path) -> None:
    (model / "tokenizer.json").unlink()
    assert any(
        "no tokenizer.json" in text for text in checked(plugins, {"model": str(model)}).missing
    )
    (model / "model.safetensors").unlink()
    assert any("no weights" in text for text in checked(plugins, {"model": str(model)}).missing)


def test_a_model_on_the_hub_is_looked_for_in_the_cache(
    plugins: Plugins, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HF_HUB_CACHE", raising=False)
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    monkeypatch.setenv("HF_HUB_OFFLINE", "0")
    assert model_folder("org/tiny") is None
    assert checked(plugins, {"model": "org/tiny"}).missing == []
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert any("HF_HUB_OFFLINE" in text for text in checked(plugins, {"model": "org/tiny"}).missing)
    snapshot = written_model(tmp_path / "hub" / "models--org--tiny" / "snapshots" / "abc")
    assert model_folder("org/tiny") == snapshot
    assert checked(plugins, {"model": "org/tiny"}).missing == []


def test_a_gpu_is_asked_for_where_one_is_needed(
    plugins: Plugins, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fields = {"model": str(model), "optimizer": {"dtype": "bfloat16"}}
    monkeypatch.setattr(machine, "gpus", list)
    assert "no GPU here, and the recipe trains in bfloat16" in checked(plugins, fields).missing
    monkeypatch.setattr(machine, "gpus", lambda: [Gpu(name="H200", memory=140 * GIB)])
    found = checked(plugins, fields)
    assert found.missing == [] and texts(found, "device") == "H200, 140.0 GiB"
    monkeypatch.setattr(machine, "gpus", lambda: [Gpu(name="small", memory=1000)])
    assert "does not fit on one GPU" in texts(checked(plugins, fields), "device")


def test_too_little_memory_is_named(
    plugins: Plugins, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine, "gpus", list)
    monkeypatch.setattr(machine, "available_memory", lambda: 1000)
    assert any(
        "of memory are left" in text for text in checked(plugins, {"model": str(model)}).missing
    )


def test_gpus_are_read_from_nvidia_smi(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "nvidia-smi"
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    program.write_text("#!/bin/sh\necho 'NVIDIA H200, 143771'\necho 'NVIDIA X, [N/A]'\n")
    program.chmod(0o755)
    assert machine.gpus() == [Gpu(name="NVIDIA H200", memory=143771 * 2**20)]
    program.write_text("#!/bin/sh\nexit 9\n")
    assert machine.gpus() == []
    program.unlink()
    monkeypatch.setenv("PATH", str(tmp_path))
    assert machine.gpus() == []


def test_packages_are_held_to_the_ranges_of_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    found = {package.name: package for package in packages("train")}
    assert found["trl"].fits and ">=1.15" in found["trl"].wanted
    assert "click" not in found, "what every install has is not listed"
    real = metadata.version

    def version(name: str) -> str:
        if name == "trl":
            return "1.18.0"
        if name == "peft":
            raise metadata.PackageNotFoundError(name)
        return real(name)

    monkeypatch.setattr(metadata, "version", version)
    found = {package.name: package for package in packages("train")}
    assert not found["trl"].fits and found["trl"].version == "1.18.0"
    assert not found["peft"].fits and found["peft"].version is None


def test_missing_packages_are_named(plugins: Plugins, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = machine.Package(name="trackio", wanted=">=0.20", version=None, fits=False)
    old = machine.Package(name="trl", wanted=">=1.15", version="1.0", fits=False)
    monkeypatch.setattr(machine, "packages", lambda extra: [gone, old])
    missing = checked(plugins, {}).missing
    assert "trackio>=0.20 is needed; not installed" in missing
    assert "trl>=1.15 is needed; 1.0 is installed" in missing
    assert not any(
        "trackio" in text for text in checked(plugins, {"trackio": {"enabled": False}}).missing
    )


def test_main_memory_is_read() -> None:
    available = machine.available_memory()
    assert available is None or available > 0


def test_the_mixture_of_a_recipe_is_the_one_that_is_trained_on() -> None:
    recipe = make_recipe(
        {
            "model": "m",
            "harness": "pi",
            "steps": 1,
            "seed": 3,
            "tasks": {
                "path": str(EXAMPLES),
                "held_out": HELD_OUT,
                "weights": {"qa": 1.0, "repair": 0.0},
            },
        }
    )
    mixed = recipe_mixture(recipe)
    assert {task.kind for task in mixed.train} == {"qa"}
    assert mixed.left_out["of a kind without weight (repair)"] > 0
