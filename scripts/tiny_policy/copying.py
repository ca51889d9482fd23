"""How well the model copies: names, and whole commands, with everything before them given."""

from __future__ import annotations

import random
from typing import Any, NamedTuple

import torch
from batches import padded
from dataset import Encoder

from harness_adapters.tasks.questions import Question

_BATCH = 32


class Copied(NamedTuple):
    """Shares that the model would write rightly: of names, and of whole answering commands."""

    names: float
    commands: float


def copied(model: Any, encoder: Encoder, asked: list[Question], harness: str) -> Copied:
    """Greedily, on the shortest session about each question."""
    dice = random.Random(0)
    right = total = whole = 0
    for start in range(0, len(asked), _BATCH):
        ids, weights = padded(
            [
                encoder.example(question, dice, shortest=True, harness=harness)
                for question in asked[start : start + _BATCH]
            ]
        )
        with torch.inference_mode():
            hit = model(input_ids=ids).logits[:, :-1].argmax(-1) == ids[:, 1:]
        name = weights[:, 1:] > 1
        right += int(hit[name].sum())
        total += int(name.sum())
        for row in range(len(ids)):
            whole += bool(hit[row][weights[row, 1:] > 0].all())
    return Copied(right / total, whole / len(asked))
