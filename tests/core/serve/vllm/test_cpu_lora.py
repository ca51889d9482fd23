"""The products that vLLM's CPU build is given for LoRA, against those of each token by itself."""

from __future__ import annotations

import sys

import pytest
import torch

from harness_adapters.serve.vllm.cpu_lora import ha_vllm_cpu_lora as lora

SLOTS = torch.tensor([2, -1, 0, 2, -1])
TOKENS, WIDE, RANK, ROWS = len(SLOTS), 6, 4, 10


def weights(rows: int, columns: int) -> torch.Tensor:
    return torch.randn(3, 1, rows, columns, generator=torch.Generator().manual_seed(rows))


def by_token(x: torch.Tensor, stacked: torch.Tensor, slots: torch.Tensor) -> torch.Tensor:
    """Zeros for tokens of the base."""
    return torch.stack(
        [
            stacked[slot, 0] @ one if slot >= 0 else torch.zeros(stacked.shape[-2])
            for one, slot in zip(x, slots.tolist(), strict=True)
        ]
    )


@pytest.mark.parametrize("slots", [SLOTS, torch.full((5,), 1), torch.full((5,), -1)])
def test_each_token_gets_its_own_adapter_and_the_base_none(slots: torch.Tensor) -> None:
    x, a, b = torch.randn(TOKENS, WIDE), weights(RANK, WIDE), weights(ROWS, RANK)
    low = torch.full((TOKENS, RANK), 9.0)
    lora.bgmv_shrink(x, a, low, slots, 0.5)
    torch.testing.assert_close(low, 0.5 * by_token(x, a, slots))
    out = torch.ones(TOKENS, ROWS)
    lora.bgmv_expand(low, b, out, slots)
    torch.testing.assert_close(out, 1 + by_token(low, b, slots))
    lora.bgmv_expand(low, b, out, slots, False)
    torch.testing.assert_close(out, by_token(low, b, slots))


def test_a_slice_is_all_that_changes() -> None:
    low, b, out = torch.randn(TOKENS, RANK), weights(ROWS, RANK), torch.ones(TOKENS, 20)
    lora.bgmv_expand_slice(low, b, out, SLOTS, 5, ROWS)
    right = torch.ones(TOKENS, 20)
    right[:, 5 : 5 + ROWS] += by_token(low, b, SLOTS)
    torch.testing.assert_close(out, right)


def test_sequences_are_tokens_of_one_adapter() -> None:
    x, a, b = torch.randn(TOKENS, WIDE), weights(RANK, WIDE), weights(ROWS, RANK)
    lengths, of_each = torch.tensor([2, 3]), torch.tensor([-1, 2])
    slots = torch.tensor([-1, -1, 2, 2, 2])
    metadata = (torch.tensor([0, 2]), lengths, of_each, 2, 3, TOKENS)
    low = torch.zeros(TOKENS, RANK)
    lora.sgmv_shrink(x, a, low, *metadata, 2.0)
    torch.testing.assert_close(low, 2 * by_token(x, a, slots))
    out, sliced = torch.zeros(TOKENS, ROWS), torch.zeros(TOKENS, ROWS)
    lora.sgmv_expand(low, b, out, *metadata, True)
    torch.testing.assert_close(out, by_token(low, b, slots))
    lora.sgmv_expand_slice(low, b, sliced, *metadata, 0, ROWS, True)
    torch.testing.assert_close(sliced, out)


def test_another_vllm_is_left_as_it_is(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setitem(sys.modules, "vllm.lora.punica_wrapper", None)
    lora.register()
    assert "not known" in caplog.text
