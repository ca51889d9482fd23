"""Tables: a cluster each, whole splits, the same for every seed."""

from __future__ import annotations

from collections import Counter

import pytest

from harness_adapters.tasks.questions import table, tables
from harness_adapters.tasks.questions.dice import Dice
from harness_adapters.tasks.questions.tables import MAX_TABLES, draw_companion, draw_rows


def test_there_are_sixty_tables_and_many_more() -> None:
    names = [each.name for each in tables(MAX_TABLES)]
    assert len(set(names)) == len(names) == MAX_TABLES >= 600


def test_a_table_does_not_depend_on_how_many_there_are() -> None:
    assert tables(200)[:60] == tables(60)
    with pytest.raises(IndexError):
        table(MAX_TABLES)


def test_every_split_has_a_fair_share() -> None:
    assert Counter(each.split for each in tables(60)) == {"train": 30, "dev": 10, "test": 20}
    assert sum(each.split == "test" for each in tables(120)) == 40


def test_no_held_out_table_has_the_columns_of_a_training_table() -> None:
    """Tables of one subject share words, never the whole header."""
    headers = {split: set[tuple[str, ...]]() for split in ("train", "dev", "test")}
    for each in tables(240):
        headers[each.split].add(each.columns)
    assert not headers["train"] & (headers["test"] | headers["dev"])
    assert not headers["dev"] & headers["test"]


def test_every_subject_of_the_first_240_tables_is_also_trained_on() -> None:
    subjects = {split: set[str]() for split in ("train", "dev", "test")}
    for each in tables(240):
        subjects[each.split].add(each.name.split("_")[0])
    assert subjects["test"] <= subjects["train"]


def test_columns_have_one_meaning_each() -> None:
    for each in tables(MAX_TABLES):
        columns = [*each.columns, *each.companion.columns]
        assert len(set(columns)) == len(columns), each


def test_rows_have_every_column_and_unique_ids() -> None:
    for each in tables(60):
        rows = draw_rows(each, Dice("rows", each.name))
        assert 30 <= len(rows) <= 80
        assert all(tuple(row) == each.columns for row in rows)
        assert len({row["id"] for row in rows}) == len(rows)
        missing = {name for row in rows for name, value in row.items() if value is None}
        assert missing <= {each.sparse}


def test_companion_rows_have_unique_keys_and_names() -> None:
    for each in tables(60):
        other = each.companion
        rows = draw_companion(other, Dice("rows", each.name))
        for column in (other.key, other.noun):
            assert len({row[column] for row in rows}) == len(rows)
        assert 2 <= len({row[other.category] for row in rows}) <= 3


def test_draws_are_the_same_everywhere() -> None:
    dice = Dice("a", 1)
    assert [dice.between(1, 1000) for _ in range(5)] == [332, 886, 784, 141, 544]
    assert dice.shuffled("abcdef") == list("bfcdea")


def test_some_keeps_the_order_and_repeats_nothing() -> None:
    dice = Dice("some")
    for _ in range(50):
        chosen = dice.some(range(10), 4)
        assert chosen == sorted(set(chosen)) and len(chosen) == 4
