"""One forward pass over several sequences: what their layers remember, and how they look at it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.nn import functional

from harness_adapters.serve.embedded.states import State

Tensor = Any
ATTENTION = "harness_adapters"


@dataclass(frozen=True)
class Pass:
    """:param states: the sequences, row by row.
    :param tokens: how many new tokens each of them has, already reserved.
    """

    states: Sequence[State]
    tokens: int

    def attend(self, layer: int, query: Tensor, new: Tensor, scale: float) -> Tensor:
        """Attention of each sequence to all that it has read and to its new tokens.

        :param query: ``[rows, heads, tokens, size]``.
        :param new: keys and values, ``[rows, 2, own heads, tokens, size]``.
        :returns: ``[rows, tokens, heads * size]``.
        """
        rows, heads, tokens, size = query.shape
        own = new.shape[2]
        # Queries that share a key stand side by side, as if they were tokens.
        query = query.reshape(rows, own, -1, size) if tokens == 1 else query
        outputs = []
        for row, state in enumerate(self.states):
            past = state.length
            kept = state.layers[layer]
            kept.narrow(3, past, tokens).copy_(new[row].unsqueeze(1))
            keys, values = kept.narrow(3, 0, past + tokens).unbind(0)
            mask = None
            if tokens > 1 and past:
                mask = torch.ones(tokens, past + tokens, dtype=torch.bool).tril_(past)
            outputs.append(
                functional.scaled_dot_product_attention(
                    query.narrow(0, row, 1),
                    keys,
                    values,
                    attn_mask=mask,
                    is_causal=tokens > 1 and not past,
                    scale=scale,
                    enable_gqa=tokens > 1 and heads != own,
                )
            )
        output = torch.cat(outputs) if rows > 1 else outputs[0]
        if tokens > 1:
            output = output.transpose(1, 2)
        return output.reshape(rows, tokens, heads * size)

    def window(self, layer: int, inputs: Tensor) -> Tensor:
        """Remember a convolution's inputs ``[rows, hidden, tokens]``; returns them after as many
        earlier ones as it looks at."""
        windows = []
        for row, state in enumerate(self.states):
            kept = state.layers[layer]
            before = kept.shape[1] - state.capacity
            kept.narrow(1, before + state.length, self.tokens).copy_(inputs[row])
            windows.append(kept.narrow(1, state.length, before + self.tokens))
        return torch.stack(windows)

    # --- the same as a cache of transformers, for models with convolutions ------------------------

    def update(self, key: Tensor, value: Tensor, *_: Any, **__: Any) -> tuple[Tensor, Tensor]:
        return key, value

    def get_seq_length(self, *_: Any) -> int:
        return 0

    def get_conv_state(self, *_: Any, **__: Any) -> None:
        return None

    def is_recording_past(self, *_: Any) -> bool:
        return True

    def update_conv_state(self, inputs: Tensor, layer: int, **_: Any) -> Tensor:
        return self.window(layer, inputs)


def attention(
    module: Any,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    *,
    states: Pass,
    scaling: float,
    **options: Any,
) -> tuple[Tensor, None]:
    """``Pass.attend`` in the form in which transformers calls attention."""
    output = states.attend(module.layer_idx, query, torch.stack((key, value), 1), scaling)
    rows, heads, tokens, size = query.shape
    return output.view(rows, tokens, heads, size), None
