"""Sizes read from files' headers are those that peft and transformers find in the loaded model."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import peft
import pytest
import transformers

from harness_adapters.errors import BadInput
from harness_adapters.train.memory import estimate
from harness_adapters.train.model_size import read_model_size
from harness_adapters.train.recipe import make_recipe

COMMON = {
    "vocab_size": 64,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
}
LAYERS = ["conv", "full_attention", "conv"]


def qwen3() -> transformers.PreTrainedModel:
    config = transformers.Qwen3Config(**COMMON, num_hidden_layers=2, head_dim=8)
    return transformers.Qwen3ForCausalLM(config)


def lfm2() -> transformers.PreTrainedModel:
    config = transformers.Lfm2Config(**COMMON, num_hidden_layers=3, layer_types=LAYERS)
    return transformers.Lfm2ForCausalLM(config)


def lfm2_moe() -> transformers.PreTrainedModel:
    config = transformers.Lfm2MoeConfig(
        **COMMON,
        num_hidden_layers=3,
        layer_types=LAYERS,
        moe_intermediate_size=16,
        num_experts=4,
        num_experts_per_tok=2,
        num_dense_layers=1,
    )
    return transformers.Lfm2MoeForCausalLM(config)


@pytest.mark.filterwarnings("ignore::FutureWarning")  # peft asks transformers by an older name
@pytest.mark.parametrize(
    ("make", "attention", "experts"), [(qwen3, 2, False), (lfm2, 1, False), (lfm2_moe, 1, True)]
)
def test_the_headers_tell_what_the_loaded_model_has(
    make: Callable[[], transformers.PreTrainedModel], attention: int, experts: bool, tmp_path: Path
) -> None:
    model = make()
    model.save_pretrained(tmp_path)
    size = read_model_size(tmp_path)
    tensors = {**dict(model.named_parameters()), **dict(model.named_buffers())}
    fused = sum(p.numel() for name, p in tensors.items() if ".experts." in name)
    loaded = sum(p.numel() for p in model.parameters())
    biases = sum(p.numel() for name, p in tensors.items() if name.endswith("expert_bias"))
    assert size.parameters == loaded + biases
    assert size.experts == fused and bool(fused) is experts
    assert size.kv_numbers == attention * 2 * 2 * 8, "layers without attention keep no keys"
    adapted = peft.get_peft_model(model, peft.LoraConfig(r=8, target_modules="all-linear"))
    lora = [p for name, p in adapted.named_parameters() if "lora_" in name]
    assert size.lora_parameters(8) == sum(p.numel() for p in lora)
    assert 0 < size.lora_parameters(8, ("q_proj", "v_proj")) < size.lora_parameters(8)


def test_an_estimate_adds_up(tmp_path: Path) -> None:
    qwen3().save_pretrained(tmp_path)
    size = read_model_size(tmp_path)
    recipe = make_recipe(
        {
            "model": str(tmp_path),
            "harness": "pi",
            "steps": 1,
            "lora": {"rank": 8},
            "optimizer": {"dtype": "float32", "token_budget": 1000},
            "rollouts": {"in_flight": 3},
        }
    )
    memory = estimate(recipe, size)
    assert memory.weights == 4 * size.parameters
    assert memory.adapter == 16 * size.lora_parameters(8)
    assert memory.activations == 1000 * 32 * 2 * 4
    assert memory.kv_token == 2 * 2 * 2 * 8 * 4
    assert memory.kv_sessions == 3 * 1000 * memory.kv_token
    assert memory.served_adapters == 7 * 4 * size.lora_parameters(8)
    assert memory.trainer == memory.weights + memory.adapter + memory.activations
    assert memory.server == memory.weights + memory.served_adapters


@pytest.mark.parametrize(
    ("config", "weights", "said"),
    [
        (None, b"", "config.json: there is no such file"),
        ("[]", b"", "config.json: not a model's config"),
        ("{", b"", "config.json: not valid JSON"),
        ("{}", None, "no weights in it"),
        ("{}", b"", "not a safetensors file"),
        ("{}", b"\xff" * 16, "not a safetensors file (its header is too long)"),
        ("{}", (2).to_bytes(8, "little") + b"[]", "not a safetensors file"),
        ("{}", (2).to_bytes(8, "little") + b"{}", "'num_hidden_layers' is missing"),
    ],
)
def test_files_that_are_no_model_are_named(
    tmp_path: Path, config: str | None, weights: bytes | None, said: str
) -> None:
    if config is not None:
        (tmp_path / "config.json").write_text(config)
    if weights is not None:
        (tmp_path / "model.safetensors").write_bytes(weights)
    with pytest.raises(BadInput) as caught:
        read_model_size(tmp_path)
    assert said in str(caught.value) and "\n" not in str(caught.value)


def test_heads_may_be_left_to_their_default(tmp_path: Path) -> None:
    header = json.dumps({"a.weight": {"dtype": "F32", "shape": [2, 2], "data_offsets": [0, 16]}})
    raw = len(header).to_bytes(8, "little") + header.encode() + bytes(16)
    (tmp_path / "model.safetensors").write_bytes(raw)
    config = {"num_hidden_layers": 3, "hidden_size": 32, "num_attention_heads": 4}
    (tmp_path / "config.json").write_text(json.dumps({"text_config": config}))
    size = read_model_size(tmp_path)
    assert size.kv_numbers == 2 * 3 * 4 * 8
    assert size.context is None
