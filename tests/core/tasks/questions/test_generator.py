"""The generator: deterministic, varied, and without a shortcut to the answers."""

from __future__ import annotations

import hashlib
import json
from collections import Counter

import pytest

from harness_adapters.errors import BadInput
from harness_adapters.tasks.questions import SPLITS, Question, generate, generator
from harness_adapters.tasks.questions.data_files import FORMATS
from harness_adapters.tasks.questions.families import FAMILIES
from harness_adapters.tasks.questions.query import Measure


@pytest.fixture(scope="module")
def questions() -> list[Question]:
    return list(generate(seed=4, count=480))


def data_hash(question: Question) -> str:
    parts = [f"{name}:".encode() + data for name, data in sorted(question.files.items())]
    return hashlib.sha256(b"\n".join(parts)).hexdigest()


def test_same_seed_same_questions() -> None:
    assert list(generate(seed=5, count=30)) == list(generate(seed=5, count=30))


def test_another_seed_other_questions() -> None:
    first, second = ({data_hash(q) for q in generate(seed=seed, count=30)} for seed in (5, 6))
    assert not first & second


def test_more_questions_begin_with_the_same_ones(questions: list[Question]) -> None:
    assert list(generate(seed=4, count=25)) == questions[:25]


def test_hundreds_of_distinct_questions(questions: list[Question]) -> None:
    assert len({q.instruction for q in questions}) == len(questions)
    assert len({q.id for q in questions}) == len(questions)
    assert len({data_hash(q) for q in questions}) == len(questions)


def test_every_table_comes_once_before_any_comes_twice(questions: list[Question]) -> None:
    assert len({q.table for q in questions[:60]}) == 60
    assert set(Counter(q.table for q in questions).values()) == {8}


def test_all_families_and_formats_meet(questions: list[Question]) -> None:
    counts = Counter((q.family, q.format) for q in questions)
    assert set(counts) == {(family, format) for family in FAMILIES for format in FORMATS}
    assert min(counts.values()) >= 20
    assert {q.query.measure for q in questions} == set(Measure)


def test_a_table_is_in_one_split_for_every_seed() -> None:
    splits: dict[str, set[str]] = {}
    for seed in (1, 2):
        for question in generate(seed=seed, count=180, tables=90):
            splits.setdefault(question.table, set()).add(question.split)
    assert len(splits) == 90
    assert all(len(found) == 1 for found in splits.values())


@pytest.mark.parametrize("split", SPLITS)
def test_only_tables_of_the_split_asked_for(split: str) -> None:
    assert {q.split for q in generate(seed=1, count=40, split=split)} == {split}


def test_forty_held_out_tables_share_no_file_with_training() -> None:
    held_out = list(generate(seed=1, count=80, tables=120, split="test"))
    trained = list(generate(seed=1, count=80, tables=120, split="train"))
    assert len({q.table for q in held_out}) == 40
    assert not {q.table for q in held_out} & {q.table for q in trained}
    assert not {data_hash(q) for q in held_out} & {data_hash(q) for q in trained}


def test_no_answer_is_worth_guessing(questions: list[Question]) -> None:
    answers = Counter(json.dumps(q.answer.value) for q in questions)
    assert answers.most_common(1)[0][1] / len(questions) < 0.05
    for family in FAMILIES:
        of_family = Counter(json.dumps(q.answer.value) for q in questions if q.family == family)
        assert of_family.most_common(1)[0][1] / of_family.total() < 0.2, family


def test_the_best_group_is_not_simply_the_first_one(questions: list[Question]) -> None:
    """Neither the group of the first row nor the first name is right in half of the questions."""
    grouped = [q for q in questions if q.query.group and q.format == "json" and not q.query.joined]
    first_row = first_name = 0
    for question in grouped:
        rows = json.loads(question.files[f"{question.table}.json"])
        names = [row[question.query.group] for row in rows]
        first_row += names[0] == question.answer.value
        first_name += min(names) == question.answer.value
    assert len(grouped) > 20
    assert max(first_row, first_name) / len(grouped) < 0.5


def test_instructions_say_all_that_is_needed(questions: list[Question]) -> None:
    for question in questions:
        text = question.instruction
        assert "Write only the answer to `answer.txt` in the current directory." in text
        assert "None" not in text and "{" not in text
        assert ("error of at most 0.01" in text) == (question.answer.abs_tol > 0)
        assert ("in any order" in text) == (question.answer.type == "list")
        assert any(name in text for name in question.files)
        if question.answer.type != "number":
            assert isinstance(question.answer.value, list | str)


def test_files_are_small(questions: list[Question]) -> None:
    assert max(len(data) for q in questions for data in q.files.values()) < 50_000


def test_what_cannot_be_made_is_said() -> None:
    with pytest.raises(BadInput, match="no split 'tst'"):
        generate(seed=1, count=1, split="tst")
    with pytest.raises(BadInput, match="0 tables asked for"):
        generate(seed=1, count=1, tables=0)
    with pytest.raises(BadInput, match="none of the first 2 tables"):
        generate(seed=1, count=1, tables=2, split="dev")


def test_running_out_of_questions_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(generator, "_ATTEMPTS", 1)
    with pytest.raises(BadInput, match="fewer questions or more tables"):
        list(generate(seed=1, count=10_000, tables=1))
