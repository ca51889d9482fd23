import pytest

from ledger.money import format_amount, parse_amount, split_evenly


@pytest.mark.parametrize(
    ("text", "cents"),
    [("12", 1200), ("12.5", 1250), ("12.05", 1205), ("1,204.99", 120499), ("+3", 300), (" 7 ", 700)],
)
def test_amounts_are_read(text, cents):
    assert parse_amount(text) == cents


def test_negative_amounts_are_read():
    assert parse_amount("-3.20") == -320


@pytest.mark.parametrize("text", ["", "abc", "1.234", "1,20", "--1", "1e3"])
def test_other_texts_are_no_amounts(text):
    with pytest.raises(ValueError):
        parse_amount(text)


def test_amounts_are_written():
    assert format_amount(5) == "0.05"
    assert format_amount(-120) == "-1.20"
    assert format_amount(123456789, thousands=True) == "1,234,567.89"


def test_splitting_loses_no_cent():
    assert split_evenly(1000, 3) == [334, 333, 333]
    assert sum(split_evenly(-1001, 4)) == -1001
