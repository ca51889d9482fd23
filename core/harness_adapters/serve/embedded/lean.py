"""A forward pass for the usual decoder with less than half of the operations of transformers'.

For models whose layers are attention (with or without norms of query and key) or LFM2's short
convolutions, each followed by a gated feed-forward layer. Matrices of the same input lie together.
Small models on a CPU spend their time between operations, not in them. Whoever builds one compares
it with transformers before relying on it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.nn import functional

from harness_adapters.serve.embedded.lora import AdaptedLinear, Batch
from harness_adapters.serve.embedded.passes import Pass

Tensor = Any


class NotLean(Exception):
    """The model is of another shape."""


class Lean:
    """:param model: of transformers, its layers made adaptable. Matrices are moved together, and
        the model goes on with views of them.
    :raises NotLean: it is of another shape.
    """

    def __init__(self, model: Any, batch: Batch) -> None:
        inner = model.model
        if getattr(model.config, "hidden_act", "silu") not in ("silu", "swish"):
            raise NotLean
        self._embed = inner.embed_tokens
        self._rotary = _part(inner, "rotary_emb", "pos_emb")
        self._layers = [_Layer(layer, number, batch) for number, layer in enumerate(inner.layers)]
        self._norm = _Norm(_part(inner, "norm", "embedding_norm"))
        self._head = model.lm_head

    def __call__(self, ids: Tensor, positions: Tensor, this: Pass, *, every: bool) -> Tensor:
        """Logits after the last new token of each row, or after ``every`` one."""
        x = self._embed(ids)
        cos, sin = self._rotary(x, position_ids=positions)
        half = sin.shape[-1] // 2
        # Rotating a half vector is rolling it; the sign of its first half goes into the sine.
        sin = torch.cat((-sin[..., :half], sin[..., half:]), -1)
        turn = (cos.unsqueeze(2), sin.unsqueeze(2), half)
        for layer in self._layers:
            x = layer(x, turn, this)
        return self._head(self._norm(x if every else x[:, -1:]))


class _Layer:
    def __init__(self, layer: Any, number: int, batch: Batch) -> None:
        attention = getattr(layer, "self_attn", None)
        self._mixer: Callable[..., Tensor] = (
            _Convolution(layer.conv, number, batch)
            if attention is None
            else _Attention(attention, number, batch)
        )
        feed = _part(layer, "mlp", "feed_forward")
        self._feed = _FeedForward(feed, batch) if _is_gated(feed) else feed
        self._before = _Norm(_part(layer, "input_layernorm", "operator_norm"))
        self._between = _Norm(_part(layer, "post_attention_layernorm", "ffn_norm"))

    def __call__(self, x: Tensor, turn: tuple[Tensor, Tensor, int], this: Pass) -> Tensor:
        x = x + self._mixer(self._before(x), turn, this)
        return x + self._feed(self._between(x))


class _Attention:
    def __init__(self, module: Any, number: int, batch: Batch) -> None:
        self._number = number
        self._scale = module.scaling
        self._size = module.head_dim
        self._in = _Together([module.q_proj, module.k_proj, module.v_proj], batch)
        self._out = _Together([_part(module, "o_proj", "out_proj")], batch)
        self._own = len(module.k_proj.weight) // self._size
        self._heads = len(module.q_proj.weight) // self._size
        norms = [getattr(module, f"{which}_norm", None) for which in "qk"]
        if norms == [None, None]:
            norms = [getattr(module, f"{which}_layernorm", None) for which in "qk"]
        self._norm: _Norm | None = None
        if norms != [None, None]:
            query, key = map(_Norm, norms)
            query.weight = torch.cat(
                (query.weight.expand(self._heads, -1), key.weight.expand(self._own, -1))
            )
            self._norm = query

    def __call__(self, x: Tensor, turn: tuple[Tensor, Tensor, int], this: Pass) -> Tensor:
        rows, tokens, _ = x.shape
        cos, sin, half = turn
        every = self._in(x).view(rows, tokens, self._heads + 2 * self._own, self._size)
        turned = every.narrow(2, 0, self._heads + self._own)
        if self._norm:
            turned = self._norm(turned)
        turned = turned * cos + turned.roll(half, -1) * sin
        new = torch.stack(
            (turned[:, :, self._heads :], every[:, :, self._heads + self._own :]), 1
        ).transpose(2, 3)
        query = turned[:, :, : self._heads].transpose(1, 2)
        return self._out(this.attend(self._number, query, new, self._scale))


class _Convolution:
    def __init__(self, module: Any, number: int, batch: Batch) -> None:
        self._number = number
        self._in = _Together([module.in_proj], batch)
        self._out = _Together([module.out_proj], batch)
        self._weight, self._bias = module.conv.weight, module.conv.bias

    def __call__(self, x: Tensor, turn: object, this: Pass) -> Tensor:
        gate, outer, inner = self._in(x).transpose(1, 2).chunk(3, 1)
        window = this.window(self._number, gate * inner)
        mixed = functional.conv1d(window, self._weight, self._bias, groups=len(self._weight))
        return self._out((outer * mixed).transpose(1, 2))


class _FeedForward:
    def __init__(self, module: Any, batch: Batch) -> None:
        self._in = _Together(
            [_part(module, "gate_proj", "w1"), _part(module, "up_proj", "w3")], batch
        )
        self._out = _Together([_part(module, "down_proj", "w2")], batch)

    def __call__(self, x: Tensor) -> Tensor:
        gate, up = self._in(x).chunk(2, -1)
        return self._out(functional.silu(gate) * up)


class _Norm:
    """Root mean square layer norm."""

    def __init__(self, module: Any) -> None:
        self.weight = module.weight
        self._epsilon = module.variance_epsilon

    def __call__(self, x: Tensor) -> Tensor:
        mean = x.square().mean(-1, keepdim=True)
        return x * mean.add_(self._epsilon).rsqrt_() * self.weight


class _Together:
    """Linear layers of the same input as one, with the adapters of the batch."""

    def __init__(self, layers: Sequence[Any], batch: Batch) -> None:
        if not all(isinstance(layer, AdaptedLinear) for layer in layers):
            raise NotLean
        biases = [layer.base.bias for layer in layers]
        if len({bias is None for bias in biases}) > 1:
            raise NotLean
        self._batch = batch
        self._paths = tuple(layer.path for layer in layers)
        self._sizes = tuple(len(layer.weight) for layer in layers)
        self._bias = None if biases[0] is None else torch.cat(biases)
        self._weight = layers[0].weight
        if len(layers) > 1:
            self._weight = torch.cat([layer.weight for layer in layers])
            parts = self._weight.split(self._sizes)
            for layer, part in zip(layers, parts, strict=True):
                layer.base.weight = torch.nn.Parameter(part, requires_grad=False)

    def __call__(self, x: Tensor) -> Tensor:
        y = functional.linear(x, self._weight, self._bias)
        return self._batch.mix.add(y, x, self._paths, self._sizes)


def _part(module: Any, *names: str) -> Any:
    for name in names:
        if (part := getattr(module, name, None)) is not None:
            return part
    raise NotLean


def _is_gated(module: Any) -> bool:
    names = set(dict(module.named_children()))
    return {"gate_proj", "up_proj", "down_proj"} <= names or {"w1", "w2", "w3"} <= names
