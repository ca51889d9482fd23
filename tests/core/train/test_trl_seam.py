"""TRL's real trainer on the CPU, over made-up rows: every architecture the recipes need."""

from __future__ import annotations

import json
import os
import queue
import random
import subprocess
import sys
from array import array
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tiny_models import tiny_model

pytestmark = [pytest.mark.timeout(900)]

SCRIPT = """
import sys
sys.path[:0] = {paths}
from test_trl_seam import in_this_process
in_this_process({folder!r}, {architecture!r})
"""


@pytest.mark.parametrize(
    "architecture",
    [
        "qwen3",
        pytest.param("lfm2", marks=pytest.mark.full),
        pytest.param("lfm2_moe", marks=pytest.mark.full),
    ],
)
def test_two_steps_of_each_architecture(architecture: str, tmp_path: Path) -> None:
    """What a pack computes is what each sequence gives alone (ratio 1 where the adapter sampled
    itself), also where sequences share a prefix and where a convolution could read across."""
    found = trained(architecture, tmp_path, python=sys.executable)
    first, last = found["steps"]
    assert first["ratio"] == pytest.approx(1.0, abs=1e-4) and first["kl"] < 1e-6
    assert first["staleness/trained_max"] == 0 and first["grad_norm"] > 0
    assert last["ratio"] != pytest.approx(1.0, abs=1e-4), "the second step is one behind"
    assert found["parity"] < 1e-4, "what was saved is what was trained"
    assert found["change"] > 1e-3, "and it is not the base"
    assert found["trained"] == [[tag, False] for tag in found["given"]]
    if architecture == "lfm2_moe":
        assert any("experts" in name for name in found["adapted"]["not_adapted"])
        assert 0 < found["adapted"]["adapted_share"] < 0.9


def trained(architecture: str, folder: Path, *, python: str) -> dict[str, Any]:
    tiny_model(folder / "model", architecture)
    paths = [str(Path(__file__).parent), str(Path(__file__).parents[2] / "support")]
    done = subprocess.run(
        [python, "-c", SCRIPT.format(paths=paths, folder=str(folder), architecture=architecture)],
        capture_output=True,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"},
    )
    assert done.returncode == 0, done.stderr[-4000:]
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


# --- in the process that trains -------------------------------------------------------------------

BRANCHES = 6
PER_STEP = 4


class Worker:
    """Rows of the policy's own ids: the logprobs are what it says alone, at the first step."""

    def __init__(self) -> None:
        self.rollout_buffer: queue.Queue[Any] = queue.Queue()
        self.metrics_queue: queue.Queue[Any] = queue.Queue()

    def start(self) -> None: ...
    def stop(self) -> None: ...
    def update_model_version(self, model_version: int) -> None: ...
    def check_health(self, stale_after_s: float) -> None: ...


class Hooks:
    def __init__(self, folder: Path, worker: Worker) -> None:
        self.staging = folder / "staged"
        self.folder = folder
        self.worker = worker
        self.steps: list[dict[str, float]] = []
        self.trained: list[Any] = []
        self.given: list[Any] = []

    def publish(self, trainer: Any, step: int) -> None:
        trainer.save_adapter(self.folder / f"v{step}")
        if step == 0:
            self._queue_rows(trainer)

    def _queue_rows(self, trainer: Any) -> None:
        from harness_adapters.train.groups import Tag, TrainRow
        from harness_adapters.train.trl_seam import to_sample

        chance = random.Random(0)
        trunk = [chance.randrange(8, 200) for _ in range(7)]
        for number in range(2 * PER_STEP + 2):
            branch = [chance.randrange(8, 200) for _ in range(BRANCHES)]
            shared = trunk[: 7 if number % 2 else 3]
            ids = [*shared, *branch]
            loss = bytes([0] * len(shared) + [1, 1, 0, 1, 1, 1])
            said = [0.0, *trainer.logprobs(ids)]
            row = TrainRow(
                tag=Tag(number // 2, number, 0),
                ids=array("i", ids),
                loss=loss,
                logprobs=array("f", [p if on else 0.0 for p, on in zip(said, loss, strict=True)]),
                advantage=1.0 if number % 2 else -1.0,
                version="v",
                step=0,
                group_step=0,
                metrics={"reward": 0.5},
            )
            self.given.append(row.tag)
            self.worker.rollout_buffer.put(to_sample(row, 0.0))

    def stepped(self, step: int, rows: Sequence[Any], metrics: dict[str, float]) -> None:
        self.steps.append(dict(metrics))
        self.trained += [[one.row.tag, one.late] for one in rows]

    def step_metrics(self, step: int, rows: Sequence[Any]) -> dict[str, Any]:
        return {"staleness/trained_max": float(max(step - 1 - one.row.step for one in rows))}

    def checkpointed(self, staged: Path, step: int) -> None:
        assert (staged / "optimizer.pt").exists() and (staged / "adapter_config.json").exists()


def in_this_process(folder: str, architecture: str) -> None:
    import peft
    import torch
    import transformers

    from harness_adapters.train.adapted import adapted
    from harness_adapters.train.arguments import lora_config, trainer_config
    from harness_adapters.train.recipe import make_recipe
    from harness_adapters.train.trl_seam import make_trainer

    root = Path(folder)
    recipe = make_recipe(
        {
            "model": str(root / "model"),
            "harness": "pi",
            "steps": 2,
            "lora": {"rank": 4},
            "rollouts": {"temperature": 1.0},
            "optimizer": {
                "learning_rate": 1e-2,
                "micro_batches": 2,
                "token_budget": 23,  # two rows to a pack
                "dtype": "float32",
                "gradient_checkpointing": False,
            },
            "trackio": {"enabled": False},
        }
    )
    worker = Worker()
    hooks = Hooks(root, worker)
    trainer = make_trainer(
        model=recipe.model,
        config=trainer_config(recipe, run="R", folder=hooks.staging),
        lora=lora_config(recipe),
        prompts=["x"],
        tokenizer=transformers.AutoTokenizer.from_pretrained(recipe.model),
        worker=worker,
        hooks=hooks,
    )
    trainer.train()

    probe = list(range(20, 60))
    expected = trainer.expect(probe)
    alone = transformers.AutoModelForCausalLM.from_pretrained(recipe.model, dtype="float32")
    served = peft.PeftModel.from_pretrained(alone, root / "v2").eval()
    with torch.no_grad():
        logits = served(torch.tensor([probe])).logits[0, :-1].log_softmax(-1)
    said = logits.gather(1, torch.tensor(probe)[1:, None])[:, 0].tolist()
    found = {
        "steps": hooks.steps,
        "trained": hooks.trained,
        "given": hooks.given[: len(hooks.trained)],
        "parity": max(abs(a - b) for a, b in zip(said, expected.adapter, strict=True)),
        "change": expected.change,
        "adapted": adapted(trainer.accelerator.unwrap_model(trainer.model)),
    }
    print(json.dumps(found))
