"""Tokens are drawn from the distribution that is asked for, and their log probabilities are its."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from harness_adapters.serve.embedded.sampling import Sampling, choose

LOGITS = [math.log(p) for p in (0.4, 0.3, 0.15, 0.1, 0.05)]
DRAWS = np.linspace(0, 1, 2000, endpoint=False).tolist()


def drawn(how: Sampling) -> dict[int, tuple[float, float]]:
    """id -> how often it is drawn, and the probability it is said to have."""
    logits = torch.tensor([LOGITS] * len(DRAWS))
    ids, logprobs = choose(logits, [how] * len(DRAWS), DRAWS)
    said = dict(zip(ids, np.exp(logprobs).tolist(), strict=True))
    return {id: (ids.count(id) / len(ids), said[id]) for id in sorted(said)}


@pytest.mark.parametrize(
    ("how", "kept"),
    [
        (Sampling(), [0.4, 0.3, 0.15, 0.1, 0.05]),
        (Sampling(top_k=2), [0.4, 0.3]),
        (Sampling(top_k=99), [0.4, 0.3, 0.15, 0.1, 0.05]),
        (Sampling(top_p=0.69), [0.4, 0.3]),
        (Sampling(top_p=0.71), [0.4, 0.3, 0.15]),
        (Sampling(top_p=0.01), [0.4]),
        (Sampling(min_p=0.3), [0.4, 0.3, 0.15]),
        (Sampling(min_p=0.3, top_k=2), [0.4, 0.3]),
        (Sampling(temperature=0.5), [0.16, 0.09, 0.0225, 0.01, 0.0025]),
        (Sampling(temperature=2.0, top_k=2), [0.4**0.5, 0.3**0.5]),
    ],
)
def test_what_is_drawn_and_what_is_said(how: Sampling, kept: list[float]) -> None:
    found = drawn(how)
    assert list(found) == list(range(len(kept)))
    for id, share in enumerate(np.array(kept) / sum(kept)):
        often, said = found[id]
        assert said == pytest.approx(share, abs=1e-5)
        assert often == pytest.approx(share, abs=2e-3)


def test_greedy_says_the_unscaled_probability() -> None:
    [(id, (often, said))] = drawn(Sampling(temperature=0.0)).items()
    assert (id, often) == (0, 1.0)
    assert said == pytest.approx(0.4)


def test_rows_do_not_mix() -> None:
    how = [Sampling(temperature=0.0), Sampling(), Sampling(top_k=1), Sampling(temperature=3.0)]
    draws = [0.99, 0.99, 0.5, 0.0]
    together = choose(torch.tensor([LOGITS] * 4), how, draws)
    for row in range(4):
        alone = choose(torch.tensor([LOGITS]), [how[row]], [draws[row]])
        assert ([together[0][row]], [together[1][row]]) == alone


def test_the_last_draw_falls_on_a_token() -> None:
    ids, logprobs = choose(torch.randn(64, 50_000), [Sampling()] * 64, [1 - 2**-53] * 64)
    assert all(0 <= id < 50_000 for id in ids)
    assert all(math.isfinite(value) for value in logprobs)
