import pytest

from mdgrid import wrap


def test_text_breaks_at_spaces():
    assert wrap("the quick brown fox", 10) == ["the quick", "brown fox"]


def test_a_text_that_fits_is_one_line():
    assert wrap("short", 10) == ["short"]
    assert wrap("exactly 10", 10) == ["exactly 10"]


def test_an_empty_text_is_one_empty_line():
    assert wrap("", 5) == [""]


def test_line_breaks_stay():
    assert wrap("one\n\ntwo three", 5) == ["one", "", "two", "three"]


def test_a_long_word_is_cut():
    assert wrap("abcdefgh", 3) == ["abc", "def", "gh"]


def test_what_is_left_of_a_long_word_shares_its_line():
    assert wrap("abcdefg hi", 5) == ["abcde", "fg hi"]


def test_a_width_is_needed():
    with pytest.raises(ValueError):
        wrap("x", 0)
