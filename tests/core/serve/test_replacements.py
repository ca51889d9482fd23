"""Edits that every harness's exact-text edit tool takes."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from harness_adapters.serve.scripted.material import Material
from harness_adapters.serve.scripted.replacements import replacements
from harness_adapters.tasks.bundle import load_tasks

SHIPPED = Path(__file__).parents[3] / "examples" / "tasks"
LINES = st.lists(st.sampled_from(["a\n", "b\n", "c\n", "    return a\n", "\n"]), max_size=12)


@example("a\nb\n\nb\n\n", "b\n")
@settings(max_examples=300, deadline=None)
@given(LINES.map("".join), LINES.map("".join))
def test_each_text_stands_once_and_all_together_give_the_other(before: str, after: str) -> None:
    pairs = replacements(before, after)
    if pairs is None:
        return
    places = sorted((before.index(old), before.index(old) + len(old)) for old, _ in pairs)
    assert all(before.count(old) == 1 for old, _ in pairs)
    assert all(end <= start for (_, end), (start, _) in pairwise(places))
    text = before
    for old, new in pairs:
        assert text.count(old) == 1
        text = text.replace(old, new)
    assert text == after


def test_is_minimal_where_lines_are_unique() -> None:
    before = "".join(f"line {number}\n" for number in range(50))
    after = before.replace("line 7\n", "LINE 7\n").replace("line 40\n", "")
    assert replacements(before, after) == (("line 7\n", "LINE 7\n"), ("line 40\n", ""))


def test_grows_until_it_is_unique() -> None:
    before = "def f():\n    return 1\n\n\ndef g():\n    return 1\n"
    after = "def f():\n    return 1\n\n\ndef g():\n    return 2\n"
    assert replacements(before, after) == (
        ("def g():\n    return 1\n", "def g():\n    return 2\n"),
    )


def test_nothing_can_be_told_apart() -> None:
    assert replacements("", "a\n") is None


@pytest.mark.skipif(not SHIPPED.is_dir(), reason="no tasks are shipped with this tree")
def test_the_shipped_repairs_are_small_edits() -> None:
    for task in load_tasks(SHIPPED)[0]:
        material = Material(task)
        for path in material.changed:
            pairs = replacements(material.before(path), material.solved[path])
            assert pairs, f"{task.id}: {path}"
            assert sum(len(old) for old, _ in pairs) < len(material.before(path))
