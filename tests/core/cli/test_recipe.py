from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness_adapters.cli import main
from harness_adapters.train.recipe import load_recipe, make_recipe
from harness_adapters.train.recipe_file import shipped_recipes, write_toml

SMALL = 'model = "org/tiny"\nharness = "pi"\nsteps = 3\n'


def ha(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as ended:
        main(list(arguments))
    out, err = capsys.readouterr()
    return int(ended.value.code or 0), out, err


def test_check_says_what_is_missing_and_ends_with_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "r.toml"
    file.write_text(SMALL)
    code, out, _ = ha(capsys, "recipe", "check", str(file))
    assert code == 1
    assert "3 steps of GRPO" in out and "[tasks] path: missing" in out
    assert "steps: 3 (published: 200 to 400, by model)" in out
    code, out, _ = ha(capsys, "recipe", "check", str(file), "--json")
    found = json.loads(out.splitlines()[-1])
    assert code == 1 and found["ok"] is False
    assert "[tasks] path: missing; it says which folder of tasks is trained on" in found["missing"]


def test_what_is_no_recipe_ends_with_two_and_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "r.toml"
    file.write_text(SMALL + "[lora]\nrnak = 3\n")
    code, out, err = ha(capsys, "recipe", "check", str(file))
    assert (code, out) == (2, "")
    assert err == f"ha: {file}: [lora] rnak: unknown key; did you mean 'rank'?\n"
    code, _, err = ha(capsys, "recipe", "check", "cpuu")
    assert code == 2 and "did you mean 'cpu'" in err


def test_list_names_what_ships(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = ha(capsys, "recipe", "list", "--json")
    assert code == 0
    assert sorted(json.loads(out)) == shipped_recipes()
    code, out, _ = ha(capsys, "recipe", "list")
    assert code == 0 and "LiquidAI/LFM2.5-24B-A2B" in out


@pytest.mark.parametrize("name", shipped_recipes())
def test_show_prints_a_file_that_reads_back(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, _ = ha(capsys, "recipe", "show", name)
    assert code == 0
    file = tmp_path / "copy.toml"
    file.write_text(out)
    assert load_recipe(file) == load_recipe(name)


TEXT = st.text(max_size=6)
PLAIN = (
    st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT
)
VALUES = PLAIN | st.lists(PLAIN, max_size=2) | st.dictionaries(TEXT, PLAIN, max_size=2)
NAMES = st.text("abcdefgh.-_~\"'\\]", min_size=1, max_size=8)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.dictionaries(
        st.sampled_from(["guards", "rewards", "harness"]),
        st.dictionaries(
            NAMES.filter(lambda name: name != "use"),
            st.dictionaries(TEXT, VALUES, max_size=2),
            min_size=1,
            max_size=2,
        ),
    ),
    st.none() | st.lists(NAMES, max_size=3),
)
def test_any_recipe_written_reads_back(
    options: dict[str, dict[str, dict[str, object]]], guards: list[str] | None
) -> None:
    recipe = make_recipe(
        {"model": "m", "harness": "pi", "steps": 1, "options": options, "guards": guards}
    )
    text = write_toml(recipe.model_dump(mode="json"))
    tables = tomllib.loads(text)
    for kind, given_options in recipe.options.items():
        table = dict(tables[kind])
        table.pop("use", None)
        assert table == given_options
    use = tables.get("guards")
    if isinstance(use, dict):
        use = use.get("use")
    assert use == guards
