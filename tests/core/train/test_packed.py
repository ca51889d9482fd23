"""What is computed in a pack must be what each sequence gives on its own."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F

from harness_adapters.train.packed import (
    PREVIOUS,
    packed_convolution,
    previous_in_line,
    previous_in_tree,
    varlen_attention,
)


def usual(hidden: Any, weight: Any, bias: Any, activation: Any = None) -> Any:
    padded = F.pad(hidden, (weight.shape[-1] - 1, 0))
    return F.conv1d(padded, weight.unsqueeze(1), bias, groups=hidden.shape[1])


def tree() -> tuple[Any, Any, Any, list[list[int]]]:
    """A trunk of 3, two branches of 2 and 3, and a sequence of its own: packed positions of each
    sequence, and the layout as TRL gives it."""
    sequences = [[0, 1, 2, 3, 4], [0, 1, 2, 5, 6, 7], [8, 9]]
    segments = [[0, 1, 2], [3, 4], [5, 6, 7], [8, 9]]
    paths = [[0, 1, 2], [0, 1, 2, 3, 4], [0, 1, 2, 5, 6, 7], [8, 9]]
    cu_q = torch.tensor([0, *torch.tensor([len(s) for s in segments]).cumsum(0)])
    cu_k = torch.tensor([0, *torch.tensor([len(p) for p in paths]).cumsum(0)])
    kv = torch.tensor([position for path in paths for position in path])
    return kv, cu_q.int(), cu_k.int(), sequences


def test_what_comes_before_a_token_in_a_trie_and_in_a_line() -> None:
    kv, cu_q, cu_k, _ = tree()
    assert previous_in_tree(kv, cu_q, cu_k).tolist() == [-1, 0, 1, 2, 3, 2, 5, 6, -1, 8]
    assert previous_in_line(torch.tensor([[0, 1, 2, 0, 1, 0]])).tolist() == [-1, 0, 1, -1, 3, -1]


def test_a_convolution_reads_along_its_own_sequence() -> None:
    torch.manual_seed(0)
    kv, cu_q, cu_k, sequences = tree()
    hidden, weight, bias = torch.randn(1, 4, 10), torch.randn(4, 3), torch.randn(4)
    packed = packed_convolution(usual)(
        hidden, weight, bias, **{PREVIOUS: previous_in_tree(kv, cu_q, cu_k)}
    )
    for sequence in sequences:
        alone = usual(hidden[:, :, sequence], weight, bias)
        torch.testing.assert_close(packed[:, :, sequence], alone)
    torch.testing.assert_close(
        packed_convolution(usual)(hidden, weight, bias, None), usual(hidden, weight, bias)
    )


def test_attention_is_that_of_each_sequence() -> None:
    torch.manual_seed(0)
    kv, cu_q, cu_k, sequences = tree()
    query, key, value = torch.randn(10, 4, 8), torch.randn(10, 2, 8), torch.randn(10, 2, 8)
    packed = varlen_attention(query, key[kv], value[kv], cu_q, cu_k, 3, 6)
    for sequence in sequences:
        q, k, v = (x[sequence].transpose(0, 1).unsqueeze(0) for x in (query, key, value))
        alone = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        torch.testing.assert_close(packed[sequence], alone[0].transpose(0, 1))


def test_a_window_hides_what_is_further_back() -> None:
    torch.manual_seed(0)
    query, key, value = (torch.randn(6, 1, 8) for _ in range(3))
    bounds = torch.tensor([0, 6], dtype=torch.int32)
    seen = varlen_attention(query, key, value, bounds, bounds, 6, 6, window_size=(1, 0))
    far = value.clone()
    far[:4] += 100
    again = varlen_attention(query, key, far, bounds, bounds, 6, 6, window_size=(1, 0))
    torch.testing.assert_close(seen[5], again[5])
    assert not torch.allclose(seen[4], again[4])
