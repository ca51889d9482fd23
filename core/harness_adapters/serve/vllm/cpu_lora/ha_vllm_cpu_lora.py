"""A plugin of vLLM's: LoRA on its CPU build, with one product for each adapter of a batch.

The build's own (0.32) copies an adapter's weights for every token, and gives tokens of the base
that share a batch with others whatever adapter lies in the last slot. vLLM finds this folder on
its ``PYTHONPATH``; it runs in vLLM's environment and imports nothing of ours.

Slots are one number per token, -1 for the base. Weights are ``[slots, 1, rows, columns]``.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor


def register() -> None:
    """Called by vLLM in each of its processes."""
    try:
        from vllm.lora.punica_wrapper import punica_cpu
    except ImportError:  # another version, which keeps it elsewhere
        logging.getLogger("vllm").warning("ha_vllm_cpu_lora: this vLLM is not known, left as it is")
        return
    for function in (
        *(bgmv_shrink, bgmv_expand, bgmv_expand_slice),
        *(sgmv_shrink, sgmv_expand, sgmv_expand_slice),
    ):
        setattr(punica_cpu, function.__name__, function)


# --- what vLLM calls: a slot per token, or (``sgmv``) per sequence, with the lengths of these -----


def bgmv_shrink(x: Tensor, weights: Tensor, out: Tensor, slots: Tensor, scale: float = 1.0) -> None:
    shrink(out, x, weights, slots, scale)


def bgmv_expand(
    x: Tensor, weights: Tensor, out: Tensor, slots: Tensor, add_inputs: bool = True
) -> None:
    expand(out, x, weights, slots, 0, out.shape[1], add_inputs)


def bgmv_expand_slice(
    x: Tensor,
    weights: Tensor,
    out: Tensor,
    slots: Tensor,
    slice_offset: int,
    slice_size: int,
    add_inputs: bool = True,
) -> None:
    expand(out, x, weights, slots, slice_offset, slice_size, add_inputs)


def sgmv_shrink(x: Tensor, weights: Tensor, out: Tensor, *metadata: Any) -> None:
    *sequences, scale = metadata
    shrink(out, x, weights, _by_token(*sequences), scale)


def sgmv_expand(x: Tensor, weights: Tensor, out: Tensor, *metadata: Any) -> None:
    *sequences, add_inputs = metadata
    expand(out, x, weights, _by_token(*sequences), 0, out.shape[1], add_inputs)


def sgmv_expand_slice(x: Tensor, weights: Tensor, out: Tensor, *metadata: Any) -> None:
    *sequences, slice_offset, slice_size, add_inputs = metadata
    expand(out, x, weights, _by_token(*sequences), slice_offset, slice_size, add_inputs)


def _by_token(starts: Tensor, lengths: Tensor, slots: Tensor, *counts: int) -> Tensor:
    return torch.repeat_interleave(slots, lengths)


# --- the products: opaque to the compiler, since what they do depends on the slots ---------------


@torch.library.custom_op("ha_vllm_cpu_lora::shrink", mutates_args=("out",))  # type: ignore[untyped-decorator]
def shrink(out: Tensor, x: Tensor, weights: Tensor, slots: Tensor, scale: float) -> None:
    """``out = scale * x @ A.T`` for each token's adapter, zeros for tokens of the base."""
    rank = weights.shape[-2]
    out[:, :rank] = 0
    for slot, tokens in _adapters(slots):
        a = weights[slot].view(rank, -1).to(out.dtype)
        out[tokens, :rank] = scale * (x[tokens].to(out.dtype) @ a.T)


@torch.library.custom_op("ha_vllm_cpu_lora::expand", mutates_args=("out",))  # type: ignore[untyped-decorator]
def expand(
    out: Tensor, x: Tensor, weights: Tensor, slots: Tensor, start: int, size: int, add: bool
) -> None:
    """``out[:, start : start + size] += x @ B.T`` for each token's adapter; without ``add`` that is
    set, to zeros for tokens of the base."""
    rows, rank = weights.shape[-2:]
    end = start + min(size, rows)
    if not add:
        out[:, start:end] = 0
    for slot, tokens in _adapters(slots):
        b = weights[slot].view(rows, rank).to(out.dtype)
        out[tokens, start:end] += (x[tokens].to(out.dtype) @ b.T)[:, : end - start]


def _adapters(slots: Tensor) -> Iterator[tuple[int, Tensor | slice]]:
    """The slots in use, and the tokens of each."""
    used = slots.unique().tolist()
    for slot in used:
        if slot >= 0:
            yield slot, slice(None) if len(used) == 1 else (slots == slot).nonzero().view(-1)
