"""What a run needs of memory, as far as it can be counted from sizes alone.

Counted are things that are there for as long as the run is. Not counted is work space: attention
and loss inside a layer, fragmentation, the engine's graphs. So these are lower bounds, and said so.
"""

from __future__ import annotations

from dataclasses import dataclass

from harness_adapters.train.model_size import ModelSize
from harness_adapters.train.recipe import Recipe

GIB = 2**30
_BYTES = {"float32": 4, "bfloat16": 2, "float16": 2}
_ADAPTER_STATE = 16
"""Bytes per trained parameter: value, gradient and Adam's two moments, all in float32 (peft keeps
adapters in float32 whatever the model's type is)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """In bytes.

    :ivar weights: of the base model, in the recipe's type; trainer and server each hold them.
    :ivar adapter: of the trained adapter, with gradients and Adam.
    :ivar activations: hidden states kept between layers for one full forward pass.
    :ivar served_adapters: of the versions that the server holds at once.
    :ivar kv_token: of the server's cache, per token.
    :ivar kv_sessions: of that cache when all sessions in flight have full length: an upper bound.
    """

    weights: int
    adapter: int
    activations: int
    served_adapters: int
    kv_token: int
    kv_sessions: int

    @property
    def trainer(self) -> int:
        return self.weights + self.adapter + self.activations

    @property
    def server(self) -> int:
        """Without the cache, which takes what it is given."""
        return self.weights + self.served_adapters


def longest_row(recipe: Recipe, size: ModelSize) -> int:
    """Tokens of the longest session that can be served and trained."""
    return min(recipe.optimizer.token_budget, size.context or recipe.optimizer.token_budget)


def estimate(recipe: Recipe, size: ModelSize) -> Memory:
    """:param size: of the recipe's model."""
    width = _BYTES[recipe.optimizer.dtype]
    adapter = size.lora_parameters(recipe.lora.rank, recipe.lora.target_modules)
    kv_token = size.kv_numbers * width
    return Memory(
        weights=size.parameters * width,
        adapter=adapter * _ADAPTER_STATE,
        activations=recipe.optimizer.token_budget * size.hidden * size.layers * width,
        served_adapters=adapter * width * recipe.lora_slots,
        kv_token=kv_token,
        kv_sessions=kv_token * longest_row(recipe, size) * recipe.rollouts.in_flight,
    )
