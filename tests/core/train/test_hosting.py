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


def test_modules_are_named_where_all_adapters_name_theirs() -> None:
    one = recipe(target_modules=("q_proj", "layers.0.self_attn.v_proj"))
    assert hosting_of([one, recipe(target_modules=("o_proj", "q_proj"))]).modules == (
        *("q_proj", "v_proj"),
        "o_proj",
    )
    assert hosting_of([one, recipe()]).modules == (), "all linear ones: any"
    experts = recipe(target_modules=("q_proj",), target_parameters=("experts.gate",))
    assert hosting_of([experts]).modules == ()
