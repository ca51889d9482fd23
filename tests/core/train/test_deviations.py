from __future__ import annotations

import pytest

from harness_adapters.train.deviations import NOT_PUBLISHED, PUBLISHED, deviations
from harness_adapters.train.recipe import load_recipe, make_recipe
from harness_adapters.train.recipe_file import shipped_recipes


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_published_recipe_does_not_differ_from_itself(name: str) -> None:
    assert deviations(load_recipe(name)) == []


@pytest.mark.parametrize("place", ["/models/LFM3-1.7B", "me/lfm3-1.7b"])
def test_a_model_is_known_wherever_its_files_lie(place: str) -> None:
    recipe = load_recipe("lfm3-1.7b").replace({"model": place, "seed": 9, "harness": "hermes"})
    assert deviations(recipe) == []
    assert deviations(recipe.replace({"steps": 3})) == ["steps: 3 (published: 400)"]


def test_every_changed_field_is_told() -> None:
    recipe = load_recipe("twil-8b").replace(
        {
            "guards": ("tamper",),
            "rewards": (),
            "options": {"rewards": {"tool_efficiency": {"weight": 0.3}}},
            "tasks": {"weights": {"qa": 1.0}, "held_out": {"data": 10}},
            "rollouts": {"keep_thinking": True, "max_requests": 20},
            "lora": {"target_parameters": ("experts.w1",)},
            "optimizer": {"learning_rate": 1e-3},
            "advantage": {"scale": "none", "std_floor": 0.0},
        }
    )
    assert sorted(deviations(recipe)) == sorted(
        [
            "guards: tamper (published: every built-in guard)",
            "rewards: none (published: every built-in reward)",
            "[rewards.tool_efficiency] weight: 0.3 (published: not set)",
            "[tasks.weights] qa: 1.0 (published: not set)",
            "[tasks.held_out] data: 10 (published: 150)",
            "[rollouts] keep_thinking: true (published: false)",
            "[rollouts] max_requests: 20 (published: not set)",
            "[lora] target_parameters: experts.w1 (published: none)",
            "[optimizer] learning_rate: 0.001 (published: 1e-05)",
            "[advantage] scale: none (published: group)",
            "[advantage] std_floor: 0.0 (by default, not published: 0.05)",
        ]
    )


def test_another_model_is_held_to_what_was_published_for_all() -> None:
    recipe = make_recipe({"model": "me/other", "harness": "pi", "steps": 10})
    assert deviations(recipe) == ["steps: 10 (published: 200 to 400, by model)"]
    changed = deviations(load_recipe("cpu"))
    assert "[optimizer] learning_rate: 0.001 (published: 1e-05)" in changed
    assert any(line.startswith("[rollouts] in_flight: ") for line in changed)


def test_the_lists_name_fields_and_recipes_that_exist() -> None:
    assert set(PUBLISHED) <= set(shipped_recipes())
    dumped = load_recipe("cpu").model_dump()
    for key in NOT_PUBLISHED:
        table, field = key.split(".")
        assert field in dumped[table]
