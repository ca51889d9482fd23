"""The script that warm-starts SmolLM2 on synthetic sessions, with a model that fits into a test."""

from __future__ import annotations

import random
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from harness_adapters.quickstart.policy import policy_folder
from harness_adapters.quickstart.questions import questions

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

SCRIPTS = Path(__file__).parents[3] / "scripts" / "smollm2"
pytestmark = pytest.mark.filterwarnings("ignore:.*past_key_values.*:FutureWarning")


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(SCRIPTS))
    monkeypatch.setattr(sys, "path", list(sys.path))  # the script adds a folder of its own
    import warm_start  # type: ignore[import-not-found]

    assert isinstance(warm_start, ModuleType)
    return warm_start


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    return transformers.AutoTokenizer.from_pretrained(policy_folder())


@pytest.fixture
def batch(script: ModuleType, tokenizer: Any) -> Any:
    return script.draw(tokenizer, list(questions(3, 8, "train")), random.Random(1), 1.0)


def test_the_model_learns_what_it_writes_and_nothing_else(
    script: ModuleType, tokenizer: Any, batch: Any
) -> None:
    assert len(batch.rows) > 2
    for row in batch.rows:
        text = tokenizer.decode(
            [token for token, written in zip(row.ids, row.written, strict=True) if written]
        )
        replies = text.split("<|im_end|>")
        assert replies.pop() == ""
        assert all(reply.startswith("<tool_call>") for reply in replies[:-1])
        assert replies[-1] in ("Done.", "The answer is in answer.txt.")
        whole = tokenizer.decode([*batch.beginning, *row.ids])
        assert whole.startswith("<|im_start|>system\n")
        assert whole.count("<|im_start|>system") == 1


def test_reading_the_beginning_once_changes_no_score(
    script: ModuleType, tokenizer: Any, batch: Any
) -> None:
    torch.manual_seed(0)
    model = transformers.LlamaForCausalLM(
        transformers.LlamaConfig(
            vocab_size=len(tokenizer),
            hidden_size=32,
            intermediate_size=48,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=2,
            max_position_embeddings=8192,
        )
    )
    found = script.learn(model, batch)
    total = 0.0
    for row in batch.rows:
        ids = torch.tensor([batch.beginning + row.ids])
        written = torch.tensor([False] * (len(batch.beginning) - 1) + row.written)
        with torch.no_grad():
            scores = model(input_ids=ids).logits[0, :-1]
        each = torch.nn.functional.cross_entropy(scores, ids[0, 1:], reduction="none")
        total += each[written].sum().item()
    expected = total / sum(sum(row.written) for row in batch.rows)
    assert found == pytest.approx(expected, rel=1e-4)
    assert all(value.grad is not None for value in model.model.layers.parameters())
