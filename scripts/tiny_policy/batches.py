"""What each stage of the training shows the model."""

from __future__ import annotations

import random

import torch
from dataset import Encoder, Example

from harness_adapters.tasks.questions import Question

TOKENS = 4096
"""Of one batch, about."""
_DRAWN = 256  # sessions sorted by length at a time


def repeated_names(known: list[int], dice: random.Random, step: int) -> list[Example]:
    """Rows of random names, said twice; longer as the training goes on."""
    length = min(24, 4 + step // 15)
    rows = []
    for _ in range(TOKENS // (4 * length)):
        once = [dice.choice(known) for _ in range(length)]
        gap = [dice.choice(known) for _ in range(dice.randint(0, length))]
        foreseeable = length - 1
        unforeseeable = 2 * length + len(gap) - foreseeable
        rows.append(Example(once + gap + once, [0.0] * unforeseeable + [1.0] * foreseeable))
    return rows


class SessionBatches:
    """Batches of sessions of similar length about ``asked``, without end."""

    def __init__(self, encoder: Encoder, asked: list[Question], dice: random.Random) -> None:
        self._encoder, self._asked, self._dice = encoder, asked, dice
        self._ready: dict[bool, list[list[Example]]] = {True: [], False: []}

    def next(self, *, shortest: bool) -> list[Example]:
        """:param shortest: only the one command that answers each question."""
        if not self._ready[shortest]:
            self._ready[shortest] = self._draw(shortest)
        return self._ready[shortest].pop()

    def _draw(self, shortest: bool) -> list[list[Example]]:
        drawn = (self._dice.choice(self._asked) for _ in range(_DRAWN))
        examples = [self._encoder.example(one, self._dice, shortest=shortest) for one in drawn]
        batches: list[list[Example]] = [[]]
        for example in sorted(examples, key=lambda one: len(one.ids)):
            if batches[-1] and (len(batches[-1]) + 1) * len(example.ids) > TOKENS:
                batches.append([])
            batches[-1].append(example)
        self._dice.shuffle(batches)
        return batches


def padded(batch: list[Example]) -> tuple[torch.Tensor, torch.Tensor]:
    """Ids and weights, ``[examples, longest]`` each, filled up on the right with zeros."""
    longest = max(len(example.ids) for example in batch)
    ids = torch.zeros(len(batch), longest, dtype=torch.long)
    weights = torch.zeros(len(batch), longest)
    for row, example in enumerate(batch):
        ids[row, : len(example.ids)] = torch.tensor(example.ids)
        weights[row, : len(example.ids)] = torch.tensor(example.weights)
    return ids, weights
