"""Every family of models that this engine is for gives what transformers and peft give."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from tiny_models import ATTENTION, CONTEXT, logprobs_by_peft, one_thread, tiny_adapter, tiny_model

from harness_adapters.errors import BadInput
from harness_adapters.serve.embedded.lora import Adapter
from harness_adapters.serve.embedded.model import CHUNK, Model
from harness_adapters.serve.embedded.states import State, as_ids

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*is_gradient_checkpointing.*:FutureWarning"),
    pytest.mark.timeout(600),
]
IDS = np.random.default_rng(0).integers(5, 4000, CHUNK + 90).tolist()


@pytest.fixture(scope="module", autouse=True)
def threads() -> None:
    one_thread()


@pytest.mark.parametrize("family", ["qwen3", "llama", "lfm2", "lfm2_moe"])
def test_parity_with_peft(tmp_path: Path, family: str) -> None:
    """Of the base and of two adapters, of experts too, read in chunks and step by step; with and
    without the lean forward pass, mixed in one batch."""
    folder = tiny_model(tmp_path / "base", family)
    experts = family == "lfm2_moe"
    folders = [
        None,
        tiny_adapter(tmp_path / "one", folder, seed=1, rank=4, experts=experts),
        tiny_adapter(tmp_path / "two", folder, seed=2, rank=8, target_modules=ATTENTION[:2]),
    ]
    model = Model(str(folder), context=CONTEXT, max_rank=8)
    assert model.lean, "the families we care for must have the fast pass"
    adapters = [model.adapter(at.name, at) if at else None for at in folders]
    right = np.array([logprobs_by_peft(folder, at, IDS) for at in folders])
    assert min(np.abs(right[0] - right[1]).max(), np.abs(right[0] - right[2]).max()) > 0.1
    for lean in (True, False):
        model.lean = lean
        found = np.array([model.prompt_logprobs(as_ids(IDS), one) for one in adapters])
        assert np.abs(found - right).max() < 1e-3
        assert np.abs(stepwise(model, adapters) - right[:, -20:]).max() < 1e-3


def stepwise(
    model: Model, adapters: list[Adapter | None]
) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
    """The log probabilities of the last 20 ids, all rows in one batch, one token at a time."""
    states = [State(model.shape, adapter) for adapter in adapters]
    for state, adapter in zip(states, adapters, strict=True):
        model.read(state, as_ids(IDS[:CHUNK]), adapter)
        model.read(state, as_ids(IDS[CHUNK:-21]), adapter)
    found = []
    for before, after in zip(IDS[-21:-1], IDS[-20:], strict=True):
        logits = model.step(states, [before] * len(states), adapters)
        found.append(logits.log_softmax(-1)[:, after])
    return np.asarray(torch.stack(found, 1).numpy())


def test_a_model_it_cannot_serve(tmp_path: Path) -> None:
    """It says so at the start, not by wrong numbers later."""
    import transformers

    config = transformers.Gemma2Config(
        vocab_size=4096,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        head_dim=16,
    )
    tiny_model(tmp_path)
    transformers.Gemma2ForCausalLM(config).save_pretrained(tmp_path)
    with pytest.raises(BadInput, match="vllm"):
        Model(str(tmp_path), context=None, max_rank=8)


@pytest.mark.parametrize("name", ["config.json", "model.safetensors", "tokenizer.json"])
def test_broken_folders(tmp_path: Path, name: str) -> None:
    tiny_model(tmp_path)
    (tmp_path / name).write_bytes(b"{ this is no")
    with pytest.raises(BadInput) as refused:
        Model(str(tmp_path), context=None, max_rank=8)
    assert "\n" not in str(refused.value)
