from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness_adapters import BadInput
from harness_adapters.evaluation.plan import (
    Design,
    check_folder,
    folder_names,
    make_plan,
    read_plan,
    write_plan,
)


@given(st.lists(st.text(min_size=1, max_size=200), min_size=1, max_size=6, unique=True))
def test_each_model_has_a_folder_of_its_own_whatever_its_name(models: list[str]) -> None:
    names = folder_names(models)
    assert len({name.lower() for name in names}) == len(models)
    for name in names:
        assert re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,90}", name)


def test_a_path_safe_name_is_kept() -> None:
    models = ["tiny-4b.pi.01J8ZK.v3", "org/base", "org-base"]
    kept, *alike = folder_names(models)
    assert kept == models[0]
    assert all(re.fullmatch(r"org-base-[0-9a-f]{8}", name) for name in alike)


def test_groups_have_their_base_first() -> None:
    plan = make_plan(Design.MODELS, ["pi", "opencode"], ["base", "v1"])
    assert [[arm.path for arm in group] for group in plan.groups()] == [
        ["pi/base", "pi/v1"],
        ["opencode/base", "opencode/v1"],
    ]
    guards = make_plan(Design.GUARDS, ["pi"], ["base", "v1"])
    assert [[arm.path for arm in group] for group in guards.groups()] == [
        ["pi/base/guards-off", "pi/base/guards-on"],
        ["pi/v1/guards-off", "pi/v1/guards-on"],
    ]


@pytest.mark.parametrize(
    ("design", "harnesses", "models", "says"),
    [
        (Design.MODELS, ["pi"], [], "needs a model"),
        (Design.MODELS, [], ["base"], "needs a harness"),
        (Design.MODELS, ["pi"], ["base", ""], "needs a model"),
        (Design.MODELS, ["pi"], ["base", "base"], "model 'base' is named twice"),
        (Design.MODELS, ["pi", "pi"], ["base"], "harness 'pi' is named twice"),
        (Design.MATRIX, ["pi"], ["base", "v1"], "two harnesses"),
        (Design.MATRIX, ["pi", "opencode"], ["base"], "two models"),
    ],
)
def test_what_makes_no_plan(
    design: Design, harnesses: list[str], models: list[str], says: str
) -> None:
    with pytest.raises(BadInput, match=says):
        make_plan(design, harnesses, models)


def test_a_folder_is_gone_on_with_only_as_it_was_begun(tmp_path: Path) -> None:
    plan = make_plan(Design.MODELS, ["pi"], ["base", "v1"])
    check_folder(tmp_path / "new", plan, resume=False)
    write_plan(tmp_path / "new", plan)
    written = (tmp_path / "new" / "eval.json").read_bytes()
    assert read_plan(tmp_path / "new") == plan
    check_folder(tmp_path / "new", plan, resume=True)
    write_plan(tmp_path / "new", plan)
    assert (tmp_path / "new" / "eval.json").read_bytes() == written
    with pytest.raises(BadInput, match="--resume"):
        check_folder(tmp_path / "new", plan, resume=False)
    other = make_plan(Design.MODELS, ["pi"], ["base", "v2"])
    with pytest.raises(BadInput, match="models: base, v1 against base, v2"):
        check_folder(tmp_path / "new", other, resume=True)


def test_a_folder_of_something_else_is_left_alone(tmp_path: Path) -> None:
    plan = make_plan(Design.MODELS, ["pi"], ["base"])
    (tmp_path / "file").write_text("mine")
    for place in (tmp_path, tmp_path / "file"):
        with pytest.raises(BadInput, match="not empty"):
            check_folder(place, plan, resume=True)


@pytest.mark.parametrize("content", ["", "{", '{"design": "other"}', "[]"])
def test_a_damaged_plan_is_said(tmp_path: Path, content: str) -> None:
    (tmp_path / "eval.json").write_text(content)
    with pytest.raises(BadInput, match=r"eval\.json"):
        read_plan(tmp_path)


def test_a_plan_leads_to_no_folder_outside(tmp_path: Path) -> None:
    write_plan(tmp_path, make_plan(Design.MODELS, ["pi"], ["base"]))
    content = json.loads((tmp_path / "eval.json").read_text())
    content["arms"][0]["path"] = "../elsewhere"
    (tmp_path / "eval.json").write_text(json.dumps(content))
    with pytest.raises(BadInput, match="outside"):
        read_plan(tmp_path)
