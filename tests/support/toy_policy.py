"""A policy of a few tokens with a known optimum, trained by the real trainer, without a harness.

A session has two turns of one token each. The task names a token; the second turn must say it. What
comes between the turns is put there by the world and never trained on. Sessions become turns, the
turns rows, the rows scored groups and the groups samples, each by the code that real runs use.
"""

from __future__ import annotations

import itertools
import queue
import random
import shutil
import time
from array import array
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import peft
import tokenizers
import torch
import transformers

from harness_adapters.gateway.transcript import Transcript, Turn
from harness_adapters.train.arguments import lora_config, trainer_config
from harness_adapters.train.groups import Fate, Scoring
from harness_adapters.train.recipe import Recipe, make_recipe
from harness_adapters.train.trl_seam import Trainer, make_trainer, to_sample
from harness_adapters.types import Outcome, RewardTerm, Rollout

VOCABULARY = 8
START, FIRST_TASK = 0, 1
TASKS = {FIRST_TASK: 5, FIRST_TASK + 1: 6, FIRST_TASK + 2: 7}
"""Task token -> the token that the second turn must say."""
WORLD = 4
"""What the world says between the turns; saying it is always wrong."""

Shape = Callable[[list[float]], list[float]]
"""What becomes of the rewards of one group before they are used."""


def write_model(folder: Path, seed: int = 0) -> None:
    """A random model whose sharpest possible policy is sharp enough to be right nearly always."""
    torch.manual_seed(seed)
    config = transformers.Qwen3Config(
        vocab_size=VOCABULARY,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=2,
        head_dim=16,
        initializer_range=0.5,
        tie_word_embeddings=False,
        bos_token_id=START,
        eos_token_id=START,
        pad_token_id=START,
    )
    model = transformers.Qwen3ForCausalLM(config)
    with torch.no_grad():
        model.model.norm.weight.mul_(0.3)
    model.save_pretrained(folder)
    words = {f"t{number}": number for number in range(VOCABULARY)}
    inner = tokenizers.Tokenizer(tokenizers.models.WordLevel(words, unk_token="t0"))
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=inner, pad_token="t0", eos_token="t0"
    ).save_pretrained(folder)


def recipe(model: Path, steps: int) -> Recipe:
    return make_recipe(
        {
            "model": str(model),
            "harness": "toy",
            "steps": steps,
            "rollouts": {"temperature": 1.0, "max_output_tokens": 8},
            "lora": {"rank": 8, "alpha": 16.0},
            "optimizer": {
                "learning_rate": 0.02,
                "micro_batches": 1,
                "token_budget": 96,
                "dtype": "float32",
                "gradient_checkpointing": False,
            },
            "trackio": {"enabled": False},
        }
    )


class Toy:
    """The sampling side: the policy as published, the world, and TRL's rollout worker in one.

    Sessions are run when the trainer asks for a row, so that each is sampled from the newest
    version.
    """

    def __init__(self, recipe: Recipe, folder: Path, shape: Shape, seed: int = 0) -> None:
        self.rollout_buffer = self
        self.metrics_queue: queue.Queue[dict[str, Any]] = queue.Queue()
        self.staging = folder / "staging"
        self.success: list[float] = []
        self.ratios: list[float] = []
        self._shape = shape
        self._recipe = recipe
        self._scoring = Scoring(
            min_group=recipe.rollouts.min_group,
            std_floor=recipe.advantage.std_floor,
            scale=recipe.advantage.scale,
            longest=recipe.optimizer.token_budget,
        )
        base = transformers.AutoModelForCausalLM.from_pretrained(recipe.model)
        config = peft.LoraConfig(**lora_config(recipe), task_type="CAUSAL_LM")
        self.policy = peft.get_peft_model(base, config).eval()
        self._random = torch.Generator().manual_seed(seed)
        self._steps: dict[str, int] = {}
        self._version = ""
        self._said: dict[tuple[int, ...], torch.Tensor] = {}
        self._groups = itertools.count()
        self._ready: deque[Any] = deque()
        self.staging.mkdir(parents=True)

    # --- TRL's worker and queue -------------------------------------------------------------------

    def start(self) -> None: ...
    def stop(self) -> None: ...
    def update_model_version(self, model_version: int) -> None: ...
    def check_health(self, stale_after_s: float) -> None: ...

    def qsize(self) -> int:
        return len(self._ready)

    def get(self, timeout: float | None = None) -> Any:
        while not self._ready:
            for row in self._group():
                self._ready.append(to_sample(row, time.time()))
        return self._ready.popleft()

    # --- hooks ------------------------------------------------------------------------------------

    def publish(self, trainer: Trainer, step: int) -> None:
        folder = self.staging / "adapter"
        trainer.save_adapter(folder)
        state = peft.load_peft_weights(str(folder), device="cpu")
        peft.set_peft_model_state_dict(self.policy, state)
        self._version = f"toy.v{step}"
        self._steps[self._version] = step
        self._said = self._all_chances()

    def step_metrics(self, step: int, rows: Sequence[Any]) -> dict[str, Any]:
        return {}

    def stepped(self, step: int, rows: Sequence[Any], metrics: dict[str, float]) -> None:
        self.ratios.append(metrics["ratio"])
        self.success.append(self.chance_of_success())

    def checkpointed(self, staged: Path, step: int) -> None:
        shutil.rmtree(staged)

    # --- sessions ---------------------------------------------------------------------------------

    def chance_of_success(self) -> float:
        """Exactly, over all that the first turn may say."""
        chances = [
            sum(
                float(first * self._said[START, task, said, WORLD][wanted])
                for said, first in enumerate(self._said[START, task])
            )
            for task, wanted in TASKS.items()
        ]
        return sum(chances) / len(chances)

    def _all_chances(self) -> dict[tuple[int, ...], torch.Tensor]:
        """What the policy says after each prompt that there can be."""
        first = [(START, task) for task in TASKS]
        second = [(*prompt, said, WORLD) for prompt in first for said in range(VOCABULARY)]
        with torch.no_grad():
            return {
                prompt: chances
                for prompts in (first, second)
                for prompt, chances in zip(
                    prompts,
                    self.policy(torch.tensor(prompts)).logits[:, -1].softmax(-1),
                    strict=True,
                )
            }

    def _say(self, ids: list[int]) -> tuple[int, float]:
        chances = self._said[tuple(ids)]
        said = int(torch.multinomial(chances, 1, generator=self._random))
        return said, float(chances[said].log())

    def _group(self) -> Sequence[Any]:
        index = next(self._groups)
        task = list(TASKS)[index % len(TASKS)]
        size = self._recipe.rollouts.group_size
        sessions = [self._session(task) for _ in range(size)]
        rewards = self._shape([float(said == TASKS[task]) for _, said in sessions])
        rollouts = [
            rollout(f"task-{task}", number, self._version, reward, turns)
            for number, (reward, (turns, _)) in enumerate(zip(rewards, sessions, strict=True))
        ]
        scored = self._scoring.score(index, rollouts, self._steps)
        assert scored.fate in (Fate.READY, Fate.ZERO_VARIANCE)
        return scored.rows

    def _session(self, task: int) -> tuple[tuple[Turn, ...], int]:
        ids = [START, task]
        first, chance = self._say(ids)
        one = turn(0, None, ids, first, chance, self._version)
        ids = [*ids, first, WORLD]
        second, chance = self._say(ids)
        return (one, turn(1, 0, [WORLD], second, chance, self._version)), second


def turn(
    index: int, parent: int | None, new: list[int], said: int, chance: float, model: str
) -> Turn:
    return Turn(
        index=index,
        parent=parent,
        new_messages=[],
        reply={"role": "assistant", "content": f"t{said}"},
        new_prompt_ids=array("i", new),
        sampled_ids=array("i", [said]),
        logprobs=array("f", [chance]),
        model=model,
    )


def rollout(
    task: str, attempt: int, model: str, reward: float | None, turns: tuple[Turn, ...]
) -> Rollout:
    return Rollout(
        task_id=task,
        cluster=task,
        kind="toy",
        attempt=attempt,
        tries=1,
        session_id=f"{task}-{attempt}",
        model=model,
        outcome=Outcome.INFRA if reward is None else Outcome.SOLVED,
        flags=frozenset(),
        reward=reward,
        terms=[] if reward is None else [RewardTerm(name="verifier", value=reward)],
        verdict=None,
        calls=len(turns),
        seconds=0.0,
        transcript=Transcript(turns=turns, token_exact=bool(turns)),
    )


def as_they_are(rewards: list[float]) -> list[float]:
    return rewards


def shuffled(seed: int) -> Shape:
    """The same rewards, given to the wrong rollouts of the group."""
    dice = random.Random(seed)

    def shape(rewards: list[float]) -> list[float]:
        return dice.sample(rewards, len(rewards))

    return shape


def assemble(model: Path, folder: Path, shape: Shape, *, steps: int) -> tuple[Toy, Trainer]:
    given = recipe(model, steps)
    toy = Toy(given, folder, shape)
    trainer = make_trainer(
        model=given.model,
        config=trainer_config(given, run="toy", folder=toy.staging),
        lora=lora_config(given),
        prompts=["t1"],
        tokenizer=transformers.AutoTokenizer.from_pretrained(given.model),
        worker=toy,
        hooks=toy,
    )
    return toy, trainer


def train(model: Path, folder: Path, shape: Shape, *, steps: int) -> Toy:
    toy, trainer = assemble(model, folder, shape, steps=steps)
    trainer.train()
    return toy
