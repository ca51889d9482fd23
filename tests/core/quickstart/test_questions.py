"""The quick start's questions: reproducible, and held out by table and by combination."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from itertools import islice
from pathlib import Path

import pytest

from harness_adapters import BadInput
from harness_adapters.quickstart.questions import FAMILIES, combination, held_out, questions
from harness_adapters.quickstart.tasks import (
    HELD_OUT,
    KINDS,
    held_out_for,
    held_out_questions,
    write_tasks,
)
from harness_adapters.tasks.bundle import load_tasks
from harness_adapters.tasks.questions import Question, write_bundle
from harness_adapters.tasks.questions.query import Op


def digests(question: Question) -> set[str]:
    """Of what is asked, and of every file it is asked about."""
    texts = [question.instruction.encode(), *question.files.values()]
    return {hashlib.sha256(text).hexdigest() for text in texts}


def test_the_same_seed_gives_the_same_questions() -> None:
    first = [digests(question) for question in questions(3, 6, "train")]
    assert first == [digests(question) for question in questions(3, 6, "train")]
    assert first != [digests(question) for question in questions(4, 6, "train")]
    assert first[:3] == [digests(question) for question in questions(3, 3, "train")]


@pytest.mark.parametrize("split", ["train", "test"])
def test_no_table_comes_twice_before_every_table_came_once(split: str) -> None:
    tables = [question.table for question in questions(1, 60, split)]
    assert len(set(tables)) == len(tables)


def test_families_take_turns() -> None:
    families = [question.family for question in questions(1, 6, "test")]
    assert families == [*FAMILIES, *FAMILIES]


def test_two_of_three_questions_of_a_quick_start_ask_for_a_bound() -> None:
    """Those are what the policy fails at most: it has something to learn, and to lose."""
    for asked in (held_out_questions(), questions(0, 60, "train", KINDS)):
        bounded = [any(one.op is not Op.IS for one in each.query.where) for each in asked]
        assert 0.6 <= sum(bounded) / len(bounded) < 0.75


def test_several_harnesses_share_what_is_compared_but_forty_tables_are_the_fewest() -> None:
    assert [held_out_for(harnesses) for harnesses in (1, 2, 3, 9)] == [80, 40, 40, 40]


def test_held_out_questions_share_nothing_with_training_but_words() -> None:
    """Other tables, other combinations of what is asked, other texts and other data."""
    held = list(held_out_questions())
    trained = [
        one
        for seed in (0, 1, 2)
        for kinds in (FAMILIES, KINDS)
        for one in questions(seed, 60, "train", kinds)
    ]
    assert len({question.table for question in held}) == HELD_OUT >= 40
    for of in (lambda one: one.table, lambda one: combination(one.query)):
        assert not {of(question) for question in held} & {of(question) for question in trained}
    texts = {digest for question in held for digest in digests(question)}
    assert not texts & {digest for question in trained for digest in digests(question)}


def test_a_combination_belongs_to_one_split_whatever_the_seed() -> None:
    for seed in (11, 12):
        assert not any(held_out(question.query) for question in questions(seed, 30, "train"))
        assert all(held_out(question.query) for question in questions(seed, 30, "test"))


def test_the_tasks_are_ordinary_bundles_of_kind_qa(tmp_path: Path) -> None:
    write_tasks(tmp_path / "tasks", seed=1, held_out=4, trained=6)
    tasks, broken = load_tasks(tmp_path / "tasks")
    assert not broken
    assert {task.kind for task in tasks} == {"qa"}
    splits = [task.metadata.split for task in tasks]
    assert (splits.count("train"), splits.count("test")) == (6, 4)
    clusters = {task.metadata.cluster for task in tasks if task.metadata.split == "test"}
    assert len(clusters) == 4


def test_the_solution_of_a_question_writes_its_answer(tmp_path: Path) -> None:
    for question in islice(questions(2, 6, "test"), 6):
        folder = tmp_path / question.id
        write_bundle(question, folder)
        data = folder / "environment" / "data"
        subprocess.run(
            [sys.executable, "-I", str(folder / "solution" / "solve.py")], cwd=data, check=True
        )
        written = (data / "answer.txt").read_text("utf-8").strip()
        if question.answer.type == "number":
            assert isinstance(question.answer.value, int | float)
            assert float(written) == pytest.approx(
                question.answer.value, abs=question.answer.abs_tol or 1e-9
            )
        else:
            assert written == question.answer.value


@pytest.mark.parametrize(("count", "split"), [(1, "dev"), (0, "train")])
def test_senseless_wishes_are_refused(count: int, split: str) -> None:
    with pytest.raises(BadInput):
        questions(0, count, split)
