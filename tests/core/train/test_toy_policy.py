"""A policy with a known optimum, trained by our rows, our advantages and TRL's own loss."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
import toy_policy
from toy_policy import as_they_are, shuffled

STEPS = 20
CLIP = 0.2

pytestmark = [pytest.mark.xdist_group("torch"), pytest.mark.timeout(600)]


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> Iterator[None]:
    """So small a model is slower on several threads."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("toy-model")
    toy_policy.write_model(folder)
    return folder


@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_it_finds_the_optimum(model: Path, tmp_path: Path) -> None:
    toy = toy_policy.train(model, tmp_path, as_they_are, steps=STEPS)
    first, last = toy.success[0], toy.success[-1]
    assert first < 0.25, "the base knows next to nothing"
    assert last > 0.7, toy.success
    assert max(abs(ratio - 1) for ratio in toy.ratios) < 0.2, "trained as it was sampled"


@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_rewards_that_belong_to_others_teach_nothing(model: Path, tmp_path: Path) -> None:
    """The same rewards, shuffled inside each group: as many, as large, and worth nothing. So what
    improved the policy was which rollout had which reward."""
    toy = toy_policy.train(model, tmp_path, shuffled(seed=1), steps=STEPS)
    assert max(toy.success) < 0.4, toy.success


@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_the_loss_is_the_clipped_ratio_on_sampled_ids_alone(model: Path, tmp_path: Path) -> None:
    """RF38. Written out in plain torch: the value and every gradient are the same, though the ids
    that were not sampled carry no number for a logprob."""
    toy, trainer = toy_policy.assemble(model, tmp_path, as_they_are, steps=1)
    toy.publish(trainer, 0)
    batch = next(iter(trainer.get_train_dataloader()))
    rows = [one.row for one in trainer._collated[-1]]
    assert {len(row.ids) for row in rows} == {5}
    assert {row.loss for row in rows} == {bytes([0, 0, 1, 0, 1])}
    trainer.current_gradient_accumulation_steps = 1
    with trainer.proof([0, 1, 2, 3, 4]):  # another policy than the one that sampled
        toy.publish(trainer, 1)
        loss = trainer.compute_loss(trainer.model, batch)
        loss.backward()
    terms = []
    for row in rows:
        said = toy.policy(torch.tensor([list(row.ids)])).logits[0].log_softmax(-1)
        for place in (2, 4):
            ratio = (said[place - 1, row.ids[place]] - row.logprobs[place]).exp()
            clipped = ratio.clamp(1 - CLIP, 1 + CLIP)
            terms.append(-torch.minimum(ratio * row.advantage, clipped * row.advantage))
    expected = torch.stack(terms).mean()
    expected.backward()
    assert math.isfinite(loss.item()) and abs(loss.item()) > 1e-4
    assert loss.item() == pytest.approx(expected.item(), abs=1e-5)
    ours = dict(toy.policy.named_parameters())
    compared = 0
    for name, value in trainer.model.named_parameters():
        if value.grad is not None:
            torch.testing.assert_close(value.grad, ours[name].grad, atol=1e-5, rtol=1e-3)
            compared += bool(value.grad.abs().max() > 1e-6)
    assert compared >= 7, "every linear layer learns"
