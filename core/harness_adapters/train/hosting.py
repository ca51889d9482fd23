"""What an engine is to make room for, so that it serves the adapters of some recipes."""

from __future__ import annotations

from collections.abc import Sequence

from harness_adapters.serve.engine import Hosting
from harness_adapters.train.recipe import Recipe


def hosting_of(recipes: Sequence[Recipe]) -> Hosting:
    """Room for all of these runs at once."""
    return Hosting(
        adapters=sum(recipe.lora_slots for recipe in recipes),
        rank=max(recipe.lora.served_rank for recipe in recipes),
        requests=sum(recipe.rollouts.in_flight for recipe in recipes),
    )
