"""The shipped policy: small, loadable, and able to solve tasks in a real harness."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from safetensors.numpy import load_file

import harness_adapters as ha
from harness_adapters.quickstart.policy import POLICY, policy_folder
from harness_adapters.quickstart.tasks import write_tasks

MOST_BYTES = 10_000_000


def test_it_is_small_and_whole() -> None:
    folder = policy_folder()
    assert folder.name == POLICY
    assert sum(file.stat().st_size for file in folder.iterdir()) < MOST_BYTES
    config = json.loads((folder / "config.json").read_text("utf-8"))
    assert config["architectures"] == ["Qwen3ForCausalLM"]
    assert config["max_position_embeddings"] >= 16_384  # harnesses ask to leave room for thousands
    template = (folder / "chat_template.jinja").read_text("utf-8")
    scripts = Path(__file__).parents[3] / "scripts" / "tiny_policy"
    assert template == (scripts / "chat_template.jinja").read_text("utf-8")


def test_its_tokenizer_fits_its_weights() -> None:
    from tokenizers import Tokenizer

    folder = policy_folder()
    config = json.loads((folder / "config.json").read_text("utf-8"))
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    assert tokenizer.get_vocab_size() == config["vocab_size"]
    assert tokenizer.token_to_id("<|im_end|>") == config["eos_token_id"]
    try:
        weights = load_file(folder / "model.safetensors")
    except TypeError:  # numpy without bfloat16
        return
    assert weights["model.embed_tokens.weight"].shape[0] == config["vocab_size"]


@pytest.mark.timeout(600)
def test_it_solves_a_held_out_task_in_real_pi(tmp_path: Path) -> None:
    """In at least one of three sessions; it solves nine of ten."""
    pytest.importorskip("torch")
    tasks = tmp_path / "tasks"
    write_tasks(tasks, seed=0, trained=1, held_out=1)
    result = ha.run(
        tasks,
        harness="pi",
        engine=f"embedded:{policy_folder()}",
        out=tmp_path / "run",
        split="test",
        attempts=3,
        concurrency=3,
    )
    summary = result.summary
    assert summary["finished"] == 3
    assert summary["solved"] >= 1
    assert summary["mean_calls"] and summary["mean_calls"] >= 1
