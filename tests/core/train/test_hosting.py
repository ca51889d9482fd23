"""What an engine is asked to make room for."""

from __future__ import annotations

from typing import Any

from harness_adapters.train.hosting import hosting_of
from harness_adapters.train.recipe import Recipe


def recipe(**lora: Any) -> Recipe:
    return Recipe(model="m", harness="pi", steps=1).replace({"lora": lora})


def test_it_has_room_for_all_runs_at_once() -> None:
    one, other = recipe(rank=8), recipe(rank=20)
    hosting = hosting_of([one, other])
    assert hosting.adapters == one.lora_slots + other.lora_slots
    assert hosting.requests == one.rollouts.in_flight + other.rollouts.in_flight
    assert hosting.rank == 32
