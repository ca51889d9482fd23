"""The corpus itself: rows are well formed, calls have the shape of their tool, splits are apart."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest
from corpus_rows import (
    DEV_FAMILIES,
    SHAPES,
    SHARED_FAMILIES,
    SPLITS,
    TEST_FAMILIES,
    Row,
    family_of,
    harness_of,
    load,
)

ROWS: dict[str, list[Row]] = {split: load(split) for split in SPLITS}
EVERY: list[Row] = [row for rows in ROWS.values() for row in rows]

KEYS = set(Row.__required_keys__)
POLICY_KEYS = {
    "workdir",
    "editable",
    "protected",
    "protected_roots",
    "allowed_hosts",
    "answer_sources",
}


def check_call(row: Row, name: str, arguments: Any) -> None:
    """A call fits one of the shapes that its harness has for that tool."""
    if name.startswith("mcp__"):
        assert isinstance(arguments, dict), row["id"]
        return
    shapes = SHAPES[harness_of(row)].get(name)
    if shapes is None:  # a server's tool under its own name, or one that the model made up
        assert isinstance(arguments, dict), row["id"]
        assert name in row["declared_tools"] or family_of(row) == "undeclared", row["id"]
    elif isinstance(arguments, str):
        # The tool takes free text, or the text stands for an object (even a broken one).
        free = any(shape.raw for shape in shapes)
        assert free or arguments.lstrip().startswith("{"), row["id"]
    else:
        assert any(shape.fits(arguments) for shape in shapes if not shape.raw), row["id"]


def earlier_arguments(text: str) -> Any:
    """Arguments of an earlier call: an object, or the free text that some tools take."""
    return json.loads(text) if text.startswith("{") else text


@pytest.mark.parametrize("split", SPLITS)
def test_rows_are_well_formed(split: str) -> None:
    for row in ROWS[split]:
        name = row["id"]
        assert name.startswith(f"{split}-{family_of(row)}-"), name
        assert set(row) >= KEYS, name
        assert set(row) - KEYS <= {"cwd", "policy"}, name
        assert row["expected"] == ("allow" if row["legit"] else "block"), name
        assert row["tier"] in ("core", "hard", "judgement"), name
        assert row["task_kind"] in ("repair", "build", "extend", "qa", None), name
        assert row["instruction"] and row["why"] and row["declared_tools"], name
        assert row["class"].count(".") == 1, name
        assert row.get("cwd", "/").startswith("/"), name
        if "policy" in row:
            assert set(row["policy"]) == POLICY_KEYS, name
            assert row["policy"]["workdir"] == row.get("cwd"), name


@pytest.mark.parametrize("split", SPLITS)
def test_calls_have_the_shape_of_their_tool(split: str) -> None:
    for row in ROWS[split]:
        check_call(row, row["tool_call"]["name"], row["tool_call"]["arguments"])
        open_calls: list[str] = []
        for message in row["prior_messages"]:
            assert message["role"] in ("system", "user", "assistant", "tool")
            for call in message.get("tool_calls", ()):
                open_calls.append(call["id"])
                function = call["function"]
                check_call(row, function["name"], earlier_arguments(function["arguments"]))
            if message["role"] == "tool":
                open_calls.remove(message["tool_call_id"])
        assert not open_calls, row["id"]


def test_ids_and_calls_are_unique() -> None:
    ids = Counter(row["id"] for row in EVERY)
    assert [name for name, n in ids.items() if n > 1] == []
    calls = Counter(
        json.dumps(
            [row[key] for key in ("instruction", "declared_tools", "prior_messages", "tool_call")]
        )
        for row in EVERY
    )
    assert max(calls.values()) == 1


def test_only_undeclared_rows_call_what_is_not_declared() -> None:
    for row in EVERY:
        declared = row["tool_call"]["name"] in row["declared_tools"]
        assert declared == (row["class"] != "undeclared.tool"), row["id"]


def test_families_are_split_as_documented() -> None:
    assert {family_of(row) for row in ROWS["dev"]} == DEV_FAMILIES | SHARED_FAMILIES
    assert {family_of(row) for row in ROWS["test"]} == TEST_FAMILIES | SHARED_FAMILIES
    assert not DEV_FAMILIES & TEST_FAMILIES
    # Classes are finer than families and never in both splits; nor are tasks.
    for key in ("class", "instruction"):
        dev, test = ({str(row[key]) for row in ROWS[split]} for split in SPLITS)
        assert not dev & test


def test_every_family_has_both_sides() -> None:
    sides = Counter((family_of(row), row["legit"]) for row in EVERY)
    for family in {family_of(row) for row in EVERY}:
        assert sides[family, True] >= 5, family
        assert sides[family, False] >= 2, family


def test_a_class_has_one_side_apart_from_judgement() -> None:
    sides: dict[str, set[bool]] = {}
    for row in EVERY:
        if row["tier"] != "judgement":
            sides.setdefault(row["class"], set()).add(row["legit"])
    assert {name for name, legit in sides.items() if len(legit) > 1} == set()


@pytest.mark.parametrize("split", SPLITS)
def test_each_split_is_broad(split: str) -> None:
    rows = ROWS[split]
    hacks = [row for row in rows if not row["legit"]]
    assert len(hacks) >= 100 and len(rows) - len(hacks) >= 100
    for side in (True, False):
        mine = [row for row in rows if row["legit"] is side]
        assert {row["task_kind"] for row in mine} == {"repair", "build", "extend", "qa", None}
        assert {harness_of(row) for row in mine} == set(SHAPES)
        assert {row["tier"] for row in mine} == {"core", "hard", "judgement"}
        assert sum(row["tier"] == "judgement" for row in mine) <= len(mine) // 10
