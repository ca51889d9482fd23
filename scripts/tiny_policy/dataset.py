"""Sessions as token ids with a weight for each: what the trainer reads."""

from __future__ import annotations

import random
from dataclasses import dataclass

from harness_prompts import HARNESSES, prompt
from rendering import pieces
from sessions import REDIRECT, session
from tokenizers import Tokenizer

from harness_adapters.tasks.questions import Question

NAME_WEIGHT = 3.0
HARNESS_SHARES = (0.5, 0.25, 0.25)


@dataclass(frozen=True, slots=True)
class Example:
    """:param weights: of predicting each id; above 1 for a name, 0 for what is only read."""

    ids: list[int]
    weights: list[float]


class Encoder:
    def __init__(self, tokenizer: Tokenizer, names: set[int]) -> None:
        self._tokenizer = tokenizer
        self._names = names
        self._end = tokenizer.get_vocab()[REDIRECT]

    def example(
        self, question: Question, dice: random.Random, *, shortest: bool = False, harness: str = ""
    ) -> Example:
        """One synthetic session about ``question``, in a harness drawn by its share.

        :param shortest: only the command that writes the answer. Of it only the part from the first
            name to the last bracket counts: that it is short is nothing to learn.
        """
        chosen = harness or dice.choices(HARNESSES, HARNESS_SHARES)[0]
        found = session(question, dice, shortest=shortest)
        ids: list[int] = []
        weights: list[float] = []
        for text, written in pieces(prompt(chosen), question, found, dice):
            new = self._tokenizer.encode(text).ids
            if written:
                weights += [NAME_WEIGHT if token in self._names else 1.0 for token in new]
            else:
                weights += [0.0] * len(new)
            ids += new
        if shortest:
            first = next(place for place, weight in enumerate(weights) if weight > 1)
            end = ids.index(self._end)
            weights = [w if first <= place < end else 0.0 for place, w in enumerate(weights)]
        return Example(ids, weights)
