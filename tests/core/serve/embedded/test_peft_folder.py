"""Adapters as peft saves them: all of one is served, or it is refused with a reason."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file

from harness_adapters.serve.embedded.errors import Refused
from harness_adapters.serve.embedded.lora import AdaptedLinear, Adapter, Batch
from harness_adapters.serve.embedded.peft_folder import read_adapter

Json = dict[str, Any]
Write = Callable[..., Path]
PATH = "base_model.model.model.up"


@pytest.fixture
def model() -> Any:
    model = torch.nn.Module()
    model.model = torch.nn.Module()
    batch = Batch()
    for name in ("up", "down"):
        model.model.add_module(
            name, AdaptedLinear(torch.nn.Linear(4, 6, bias=False), f"model.{name}", batch)
        )
    model.model.norm = torch.nn.LayerNorm(4)
    return model


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """``write(config fields, weights by peft's names)``: a folder."""

    def write(config: Json | None = None, weights: Json | None = None) -> Path:
        fields = {"peft_type": "LORA", "r": 2, "lora_alpha": 4, **(config or {})}
        (tmp_path / "adapter_config.json").write_text(json.dumps(fields))
        if weights is None:
            weights = {
                f"{PATH}.lora_A.weight": torch.full((2, 4), 0.5),
                f"{PATH}.lora_B.weight": torch.full((6, 2), 0.25),
            }
        save_file(weights, tmp_path / "adapter_model.safetensors")
        return tmp_path

    return write


def read(folder: Path, model: Any) -> Adapter:
    return read_adapter("a", folder, model, max_rank=16)


@pytest.mark.parametrize(
    ("config", "scale"),
    [
        ({}, 2.0),
        ({"use_rslora": True}, 4 / 2**0.5),
        ({"alpha_pattern": {"up": 8}}, 4.0),
        ({"alpha_pattern": {"p": 8, "model.down": 9}}, 2.0),
    ],
)
def test_the_scale_is_folded_in(model: Any, write: Write, config: Json, scale: float) -> None:
    adapter = read(write(config), model)
    [(path, (a, b))] = adapter.factors.items()
    assert path == "model.up"
    assert torch.equal(a, torch.full((2, 4), 0.5))
    assert torch.allclose(b, torch.full((6, 2), 0.25 * scale))


def test_the_files_may_go(model: Any, write: Write) -> None:
    folder = write()
    adapter = read(folder, model)
    for file in folder.iterdir():
        file.write_bytes(b"gone")
        file.unlink()
    assert adapter.factors["model.up"][0].sum() == 4


@pytest.mark.parametrize(
    ("config", "hint"),
    [
        ({"peft_type": "LOHA"}, "LOHA"),
        ({"use_dora": True}, "use_dora"),
        ({"bias": "all"}, "bias"),
        ({"modules_to_save": ["lm_head"]}, "modules_to_save"),
        ({"trainable_token_indices": [1]}, "trainable_token_indices"),
    ],
)
def test_what_is_not_served_is_refused(model: Any, write: Write, config: Json, hint: str) -> None:
    with pytest.raises(Refused, match=hint):
        read(write(config), model)


@pytest.mark.parametrize(
    ("weights", "hint"),
    [
        ({}, "adapts nothing"),
        ({f"{PATH}.lora_A.weight": (2, 4)}, "only one"),
        ({f"{PATH}.lora_A.weight": (2, 4), f"{PATH}.lora_B.weight": (5, 2)}, "shape"),
        ({f"{PATH}.lora_A.weight": (2, 3), f"{PATH}.lora_B.weight": (6, 2)}, "shape"),
        ({f"{PATH}.lora_A.weight": (32, 4), f"{PATH}.lora_B.weight": (6, 32)}, "rank 32"),
        ({f"{PATH}.lora_embedding_A": (2, 4)}, "lora_embedding_A"),
        (
            {
                "base_model.model.model.norm.lora_A.weight": (2, 4),
                "base_model.model.model.norm.lora_B.weight": (4, 2),
            },
            "no linear layer",
        ),
        (
            {
                "base_model.model.elsewhere.lora_A.weight": (2, 4),
                "base_model.model.elsewhere.lora_B.weight": (4, 2),
            },
            "no linear layer",
        ),
    ],
)
def test_what_does_not_fit_is_refused(
    model: Any, write: Write, weights: dict[str, tuple[int, int]], hint: str
) -> None:
    folder = write(weights={name: torch.ones(shape) for name, shape in weights.items()})
    with pytest.raises(Refused, match=hint):
        read(folder, model)


def test_values_that_are_not_finite_are_refused(model: Any, write: Write) -> None:
    weights = {
        f"{PATH}.lora_A.weight": torch.ones(2, 4),
        f"{PATH}.lora_B.weight": torch.full((6, 2), float("nan")),
    }
    with pytest.raises(Refused, match="finite"):
        read(write(weights=weights), model)


@pytest.mark.parametrize("name", ["adapter_config.json", "adapter_model.safetensors"])
def test_missing_and_torn_files(model: Any, write: Write, name: str) -> None:
    folder = write()
    whole = (folder / name).read_bytes()
    (folder / name).write_bytes(whole[: len(whole) // 2])
    with pytest.raises(Refused, match="cannot be read"):
        read(folder, model)
    (folder / name).unlink()
    with pytest.raises(Refused, match=name) as missing:
        read(folder, model)
    assert missing.value.status == 404
