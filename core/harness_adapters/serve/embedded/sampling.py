"""Choosing the next token of each row of a batch, with the log probability it had."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

Tensor = Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """How one request wants its tokens sampled.

    :param temperature: 0 takes the likeliest token.
    :param top_k: 0 for all.
    """

    temperature: float = 1.0
    top_p: float = 1.0
    top_k: int = 0
    min_p: float = 0.0

    @property
    def narrowed(self) -> bool:
        return self.temperature > 0 and (self.top_p < 1 or self.top_k > 0 or self.min_p > 0)


def choose(
    logits: Tensor, how: Sequence[Sampling], draws: Sequence[float]
) -> tuple[list[int], list[float]]:
    """:param logits: ``[rows, vocabulary]``.
    :param draws: for each row a number in [0, 1): the same number chooses the same token.
    :returns: ids, and their log probabilities under the distribution they were drawn from (after
        temperature and narrowing); at temperature 0, the unscaled ones.
    """
    heat = torch.tensor([[one.temperature or 1.0] for one in how])
    scaled = logits.float() / heat
    for row, one in enumerate(how):
        if one.narrowed:
            scaled[row] = _narrow(scaled[row], one)
    logprobs = scaled.log_softmax(-1)
    sums = logprobs.exp().double().cumsum(-1)
    # Of the whole mass as it was summed up, so that no draw falls behind the last token.
    marks = torch.tensor(draws, dtype=torch.float64)[:, None] * sums[:, -1:]
    ids = torch.searchsorted(sums, marks, right=True).clamp_(max=logits.shape[1] - 1)
    if not all(one.temperature for one in how):
        greedy = torch.tensor([[one.temperature == 0] for one in how])
        ids = torch.where(greedy, logprobs.argmax(-1, keepdim=True), ids)
    return ids.squeeze(1).tolist(), logprobs.gather(1, ids).squeeze(1).tolist()


def _narrow(scaled: Tensor, how: Sampling) -> Tensor:
    """One row with the tokens that may not be drawn at minus infinity. The order is vLLM's: min_p,
    top_k, top_p; each of them leaves the likeliest token."""
    if how.min_p > 0:
        probabilities = scaled.softmax(-1)
        few = probabilities < how.min_p * probabilities.max()
        scaled = scaled.masked_fill(few, -torch.inf)
    ordered, places = scaled.sort(descending=True)
    if 0 < how.top_k < len(ordered):
        ordered[how.top_k :] = -torch.inf
    if how.top_p < 1:
        before = ordered.softmax(-1).cumsum(-1).roll(1)
        before[0] = 0
        ordered[before >= how.top_p] = -torch.inf
    return torch.empty_like(scaled).scatter_(0, places, ordered)
