from __future__ import annotations

from pathlib import Path

import pytest

from harness_adapters.errors import BadInput
from harness_adapters.train.recipe import Recipe, load_recipe, make_recipe
from harness_adapters.train.recipe_file import shipped_recipes

SMALL = 'model = "org/tiny"\nharness = "pi"\nsteps = 3\n'


def written(folder: Path, text: str) -> Path:
    file = folder / "recipe.toml"
    file.write_text(text)
    return file


def test_the_defaults_are_the_published_ones(tmp_path: Path) -> None:
    recipe = load_recipe(written(tmp_path, SMALL))
    assert recipe.lora.rank == 32
    assert recipe.lora.target_modules == "all-linear"
    assert recipe.rollouts.group_size == 8
    assert recipe.rollouts.temperature == 0.8
    assert recipe.rollouts.max_output_tokens == 32_768
    assert recipe.rollouts.in_flight == 48
    assert recipe.rollouts.max_staleness == 4
    assert recipe.optimizer.learning_rate == 1e-5
    assert recipe.optimizer.micro_batches == 4
    assert recipe.optimizer.token_budget == 65_536
    assert recipe.advantage.scale == "group"
    assert recipe.advantage.std_floor == 0.05
    assert (recipe.tasks.held_out.repository, recipe.tasks.held_out.data) == (40, 150)
    assert recipe.guards is None, "every built-in guard"


@pytest.mark.parametrize(
    ("name", "steps", "budget", "sessions"),
    [
        ("lfm2.5-24b-a2b", 200, 131_072, 48),
        ("lfm3-1.7b", 400, 65_536, 48),
        ("twil-8b", 300, 65_536, 12),
    ],
)
def test_the_published_recipes_ship(name: str, steps: int, budget: int, sessions: int) -> None:
    recipe = load_recipe(name)
    assert recipe.steps == steps
    assert recipe.optimizer.token_budget == budget
    assert recipe.rollouts.in_flight == sessions
    assert recipe.model_slug == name.replace(".", "-")


def test_every_shipped_recipe_loads() -> None:
    assert {"cpu", "lfm3-1.7b"} <= set(shipped_recipes())
    for name in shipped_recipes():
        load_recipe(name)


def test_what_components_are_given_is_shaped_as_a_run_takes_it(tmp_path: Path) -> None:
    text = SMALL.replace('harness = "pi"\n', "") + (
        '[harness]\nuse = "pi"\n[harness.pi]\nthinking = "low"\n'
        '[guards]\nuse = ["tamper", "lookup"]\n[guards.tamper]\nstrict = true\n'
        "[rewards.tool_efficiency]\nweight = 0.3\n"
    )
    recipe = load_recipe(written(tmp_path, text))
    assert recipe.harness == "pi"
    assert recipe.guards == ("tamper", "lookup")
    assert recipe.rewards is None
    assert recipe.options == {
        "harness": {"pi": {"thinking": "low"}},
        "guards": {"tamper": {"strict": True}},
        "rewards": {"tool_efficiency": {"weight": 0.3}},
    }


def test_names_alone_may_stand_instead_of_a_table(tmp_path: Path) -> None:
    recipe = load_recipe(written(tmp_path, SMALL + 'guards = []\nrewards = ["tool_efficiency"]\n'))
    assert recipe.guards == ()
    assert recipe.rewards == ("tool_efficiency",)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (SMALL + "[lora]\nrnak = 8\n", "[lora] rnak: unknown key; did you mean 'rank'?"),
        (SMALL + "stepps = 8\n", "stepps: unknown key; did you mean 'steps'?"),
        (SMALL + "[rolouts]\n", "rolouts: unknown key; did you mean 'rollouts'?"),
        (SMALL + "[tasks.held_out]\nrepo = 8\n", "[tasks.held_out] repo: unknown key"),
        (SMALL + '[lora]\nrank = "8"\n', "[lora] rank: Input should be a valid integer"),
        (SMALL + "[lora]\nrank = true\n", "[lora] rank: Input should be a valid integer"),
        (SMALL + "[lora]\ntarget_modules = 3\n", "[lora] target_modules: "),
        (SMALL + "lora = 3\n", "lora: must be a table"),
        (SMALL + "[optimizer]\nlearning_rate = nan\n", "[optimizer] learning_rate: "),
        (SMALL + "[optimizer]\nlearning_rate = 0\n", "[optimizer] learning_rate: "),
        (SMALL + "[rollouts]\nmin_group = 9\n", "[rollouts] min_group: no group could be"),
        (SMALL + "[tasks]\ndifficulty = [0.9, 0.1]\n", "[tasks] difficulty: the lowest"),
        (SMALL + "[tasks.weights]\nqa = -1\n", "[tasks.weights] qa: "),
        (SMALL + '[trackio]\nspace_id = "a b"\n', "[trackio] space_id: "),
        (SMALL + "[guards]\nues = []\n", "[guards] ues: unknown key; did you mean 'use'?"),
        (SMALL + "[guards.tamper]\na = [1, inf]\n", "[guards.tamper.a] 1: must be a finite number"),
        (SMALL + "[rewards.x.y]\nz = nan\n", "[rewards.x.y] z: must be a finite number"),
        (SMALL + "[options.guards.tamper]\n", "options: unknown key"),
        (SMALL.replace('harness = "pi"', ""), "harness: missing"),
        (SMALL.replace('harness = "pi"', "harness = 7"), "harness: Input should be a valid string"),
        (SMALL.replace('harness = "pi"\n', "") + "[harness.pi]\n", "[harness] use: missing"),
        ("steps = [", "not valid TOML"),
        ("a = " + "[" * 100_000, "not valid TOML"),
        ("#" * 300_000, "larger than"),
    ],
)
def test_a_fault_is_one_line_that_names_file_table_and_key(
    tmp_path: Path, text: str, said: str
) -> None:
    file = written(tmp_path, text)
    with pytest.raises(BadInput) as caught:
        load_recipe(file)
    assert str(caught.value).startswith(f"{file}: {said}")
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there_says_which_ones_ship(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"did you mean 'lfm3-1\.7b'"):
        load_recipe("lfm3-1.7")
    with pytest.raises(BadInput, match="not a file"):
        load_recipe(tmp_path)
    (tmp_path / "latin.toml").write_bytes(b"model = '\xff'")
    with pytest.raises(BadInput, match="not UTF-8 at byte 9"):
        load_recipe(tmp_path / "latin.toml")


def test_paths_are_relative_to_the_file(tmp_path: Path) -> None:
    text = SMALL.replace("org/tiny", "../models/tiny") + '[tasks]\npath = "tasks"\n'
    (tmp_path / "recipes").mkdir()
    recipe = load_recipe(written(tmp_path / "recipes", text))
    assert recipe.model == str(tmp_path / "models" / "tiny")
    assert recipe.tasks.path == tmp_path / "recipes" / "tasks"


def test_a_recipe_is_made_in_python_and_survives_a_trip_as_json() -> None:
    recipe = Recipe(model="org/Tiny_Model v2".replace(" ", "-"), harness="pi", steps=3)
    assert recipe.model_slug == "tiny-model-v2"
    assert Recipe.model_validate_json(recipe.model_dump_json()) == recipe
    assert recipe.sampling.temperature == 0.8
    assert recipe.lora_slots == 7
    assert recipe.replace({"evaluation": {"every": 0}}).lora_slots == 6


def test_a_changed_copy_is_checked() -> None:
    recipe = make_recipe({"model": "m", "harness": "pi", "steps": 3})
    changed = recipe.replace({"steps": 4, "lora": {"rank": 8}, "tasks": {"weights": {"qa": 1.0}}})
    assert (changed.steps, changed.lora.rank, changed.lora.alpha) == (4, 8, 64.0)
    assert changed.replace({"tasks": {"weights": {"repair": 1.0}}}).tasks.weights == {"repair": 1.0}
    with pytest.raises(BadInput, match=r"^recipe: \[options\] gards: unknown key; did you mean"):
        recipe.replace({"options": {"gards": {}}})
    with pytest.raises(BadInput, match=r"^recipe: \[lora\] rnk: unknown key; did you mean 'rank'"):
        recipe.replace({"lora": {"rnk": 8}})


@pytest.mark.parametrize(("rank", "served"), [(1, 1), (2, 8), (32, 32), (33, 64), (512, 512)])
def test_a_server_is_told_a_rank_that_it_takes(rank: int, served: int) -> None:
    recipe = make_recipe({"model": "m", "harness": "pi", "steps": 3, "lora": {"rank": rank}})
    assert recipe.lora.served_rank == served
