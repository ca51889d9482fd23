import pytest

from mdgrid import boxed, markdown, read_markdown

HEADER = ["item", "price"]
ROWS = [["tea", "3.20"], ["sandwich", 12]]


def test_markdown_columns_are_aligned():
    assert markdown(HEADER, ROWS, align="lr").splitlines() == [
        "| item     | price |",
        "| :------- | ----: |",
        "| tea      |  3.20 |",
        "| sandwich |    12 |",
    ]


def test_markdown_is_read_again():
    rows = [["a|b", "x"], ["two\nlines", ""]]
    text = "Prices\n\n" + markdown(HEADER, rows, align="cr") + "\n\nThe end"
    assert read_markdown(text) == (HEADER, rows, "cr")


def test_short_rows_are_filled():
    assert markdown(["a", "b"], [["x"]]).splitlines()[-1] == "| x   |     |"


def test_long_rows_are_errors():
    with pytest.raises(ValueError, match="row 2"):
        markdown(["a"], [["x"], ["y", "z"]])


def test_a_text_without_a_table():
    with pytest.raises(ValueError):
        read_markdown("no | table\nhere\n")


def test_unknown_alignment():
    with pytest.raises(ValueError, match="'x'"):
        markdown(HEADER, ROWS, align="lx")


def test_a_box_fits_its_texts():
    assert boxed(HEADER, ROWS, align="lr").splitlines() == [
        "+----------+-------+",
        "| item     | price |",
        "+----------+-------+",
        "| tea      |  3.20 |",
        "| sandwich |    12 |",
        "+----------+-------+",
    ]


def test_cells_of_a_box_wrap():
    assert boxed(["note", "n"], [["bring a pen", None]], width=7).splitlines() == [
        "+---------+---+",
        "| note    | n |",
        "+---------+---+",
        "| bring a |   |",
        "| pen     |   |",
        "+---------+---+",
    ]


def test_a_box_keeps_the_order_of_a_long_address():
    row = ["see https://example.org/a now"]
    assert boxed(["where"], [row], width=12).splitlines()[3:-1] == [
        "| see          |",
        "| https://exam |",
        "| ple.org/a    |",
        "| now          |",
    ]
