"""Layers that keep packed sequences apart, where the usual kernels are missing or do not.

A trainer packs many sequences into one row of tokens. Attention kernels are told where each
sequence begins; flash attention needs a GPU, so here is the same on any device. Short causal
convolutions (LFM2) are told nothing and would read across the seams; here they read only along
their own sequence, also where sequences share a prefix (a trie, laid out in depth-first order).
"""

from __future__ import annotations

import sys
from typing import Any

import torch
import torch.nn.functional as F

PREVIOUS = "packed_previous"
"""Keyword under which a forward pass carries, for each token, the position of the token before it
in its own sequence; -1 for a first one."""


def varlen_attention(
    q: Any,
    k: Any,
    v: Any,
    cu_seqlens_q: Any,
    cu_seqlens_k: Any,
    max_seqlen_q: int,
    max_seqlen_k: int,
    *,
    softmax_scale: float | None = None,
    causal: bool = True,
    window_size: tuple[int, int] = (-1, -1),
    softcap: float = 0.0,
) -> Any:
    """Like ``flash_attn_varlen_func``: attention segment by segment, the causal mask aligned to
    the bottom right.

    :param q: ``[tokens, heads, dim]``; ``k`` and ``v`` likewise, with no more heads.
    :param cu_seqlens_q: ``[segments + 1]``, where each begins.
    :returns: ``[tokens, heads, dim]``.
    """
    if softcap or not causal:
        raise NotImplementedError("no soft-capped or non-causal attention without a GPU")
    parts = []
    starts_q, starts_k = cu_seqlens_q.tolist(), cu_seqlens_k.tolist()
    for i in range(len(starts_q) - 1):
        query, key, value = (
            x[a:b].transpose(0, 1).unsqueeze(0)
            for x, a, b in (
                (q, starts_q[i], starts_q[i + 1]),
                (k, starts_k[i], starts_k[i + 1]),
                (v, starts_k[i], starts_k[i + 1]),
            )
        )
        out = F.scaled_dot_product_attention(
            query,
            key,
            value,
            attn_mask=_causal(query.shape[2], key.shape[2], window_size[0], q.device),
            scale=softmax_scale,
            enable_gqa=query.shape[1] != key.shape[1],
        )
        parts.append(out[0].transpose(0, 1))
    return torch.cat(parts, 0)


def _causal(queries: int, keys: int, window: int, device: Any) -> Any:
    at = torch.arange(queries, device=device)[:, None] + (keys - queries)
    key = torch.arange(keys, device=device)[None, :]
    mask = key <= at
    return mask & (key >= at - window) if window >= 0 else mask


def packed_attention(
    module: Any,
    query: Any,
    key: Any,
    value: Any,
    attention_mask: Any,
    *,
    position_ids: Any,
    scaling: float | None = None,
    sliding_window: int | None = None,
    softcap: float | None = None,
    **kwargs: Any,
) -> tuple[Any, None]:
    """An attention function for transformers: sequences begin where ``position_ids`` is 0.

    :param query: ``[1, heads, tokens, dim]``.
    """
    starts = torch.nonzero(position_ids.flatten() == 0).flatten()
    bounds = torch.cat([starts, starts.new_tensor([position_ids.numel()])])
    q, k, v = (x.transpose(1, 2)[0] for x in (query, key, value))
    out = varlen_attention(
        q,
        k,
        v,
        bounds,
        bounds,
        0,
        0,
        softmax_scale=scaling,
        window_size=(sliding_window - 1, 0) if sliding_window else (-1, -1),
        softcap=softcap or 0.0,
    )
    return out.unsqueeze(0), None


class PlainHead:
    """The logprobs and entropies of a language model's head, where the fused kernel is missing."""

    @staticmethod
    def apply(
        hidden: Any,
        weight: Any,
        bias: Any,
        labels: Any,
        temperature: float,
        chunk: int,
        softcap: float | None,
        scale: float,
        outputs: tuple[str, ...],
    ) -> tuple[Any, ...]:
        """:param hidden: ``[tokens, dim]``.
        :returns: log probability of each label, entropy, and nothing for what is not asked for.
        """
        logits = F.linear(hidden, weight, bias).float() * scale
        if softcap:
            logits = softcap * torch.tanh(logits / softcap)
        said = (logits / temperature).log_softmax(-1)
        entropy = -(said.exp() * said).sum(-1).detach()
        return said.gather(-1, labels[:, None])[:, 0], entropy, None, None, None


# --- short convolutions ---------------------------------------------------------------------------


def keep_convolutions_apart(model: Any) -> None:
    """Have a model's short convolutions read along each packed sequence only."""
    for module in {sys.modules[type(part).__module__] for part in model.modules()}:
        if hasattr(module, "causal_conv1d_fn"):
            module.__dict__["causal_conv1d_fn"] = packed_convolution(module.causal_conv1d_fn)
    model.base_model.register_forward_pre_hook(_tell_what_comes_before, with_kwargs=True)


def packed_convolution(usual: Any) -> Any:
    """A causal depthwise convolution that heeds ``packed_previous`` where it is given."""

    def convolve(
        hidden: Any, weight: Any, bias: Any = None, activation: str | None = None, **kwargs: Any
    ) -> Any:
        previous = kwargs.pop(PREVIOUS, None)
        if previous is None:
            return usual(hidden, weight, bias, activation, **kwargs)
        if activation is not None:
            raise NotImplementedError("a packed convolution with an activation")
        at = torch.arange(hidden.shape[-1], device=hidden.device)
        out = torch.zeros_like(hidden)
        for tap in reversed(range(weight.shape[-1])):
            there = (at >= 0).to(hidden.dtype)
            out = out + weight[:, tap, None] * hidden[:, :, at.clamp(min=0)] * there
            at = torch.where(at >= 0, previous[at.clamp(min=0)], at)
        return out if bias is None else out + bias[:, None]

    return convolve


def _tell_what_comes_before(
    model: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    if "tree_kv_index" in kwargs:
        kwargs[PREVIOUS] = previous_in_tree(
            kwargs["tree_kv_index"], kwargs["tree_cu_seqlens_q"], kwargs["tree_cu_seqlens_k"]
        )
    elif kwargs.get("position_ids") is not None:
        kwargs[PREVIOUS] = previous_in_line(kwargs["position_ids"])
    return args, kwargs


def previous_in_line(position_ids: Any) -> Any:
    """Of sequences laid end to end, each counted from 0."""
    positions = position_ids.flatten()
    before = torch.arange(-1, positions.numel() - 1, device=positions.device)
    return torch.where(positions == 0, -1, before)


def previous_in_tree(kv_index: Any, cu_seqlens_q: Any, cu_seqlens_k: Any) -> Any:
    """Of a trie: segment ``i`` holds tokens ``cu_seqlens_q[i]`` up to the next, and its path from
    the root, itself included, is ``kv_index[cu_seqlens_k[i]:...]``."""
    starts, ends = cu_seqlens_q[:-1].long(), cu_seqlens_k[1:].long()
    lengths = cu_seqlens_q[1:].long() - starts
    paths = ends - cu_seqlens_k[:-1].long()
    before = torch.arange(-1, int(cu_seqlens_q[-1]) - 1, device=kv_index.device)
    parents = kv_index[(ends - lengths - 1).clamp(min=0)]
    before[starts] = torch.where(paths > lengths, parents, -1)
    return before
