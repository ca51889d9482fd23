from __future__ import annotations

import math
import random
from decimal import Decimal

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from ha_task_qa.grading import Expected, fold, grade, numbers

PATIENT = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


def expected(value: object, abs_tol: float = 0.0, rel_tol: float = 0.0) -> Expected:
    kind = "text" if isinstance(value, str) else "list" if isinstance(value, list) else "number"
    return Expected.model_validate(
        {"type": kind, "value": value, "abs_tol": abs_tol, "rel_tol": rel_tol}
    )


UNITS = frozenset({"mean", "height", "metres", "million", "stations"})


@pytest.mark.parametrize(
    "answer",
    [
        "12.5", " 12.5\n", "+12.5", "12.50", "12.5.", "1.25e1", "012.5", "12.5%", "12.5 %",
        "12.5 metres", "12.5 METRES.", "$12.5", "12.5€", "$ 12.5", "12.55", "12.45",
    ],
)  # fmt: skip
def test_right_numbers(answer: str) -> None:
    assert grade(answer, expected(12.5, abs_tol=0.05), units=UNITS)


@pytest.mark.parametrize(
    "answer",
    [
        "", " ", "12.56", "-12.5", "12.5 or 13", "12.5, 13", "12.5\n13", "13 12.5", "12,5", "1 2.5",
        "about 12.5", "the answer is 12.5", "12.5 million", "12.5 km", "12.5 metres 3", "12.5 13",
        "nan", "inf", "-inf", "NaN", "1e999", "1e99999999", "0x0c", "12.5e", "12..5", "--12.5",
        "\N{FULLWIDTH DIGIT ONE}2.5", "12.5%%", "[12.5]", "12_5", "12.5\x00", "twelve",
        "12.5 metres metres",
    ],
)  # fmt: skip
def test_wrong_numbers(answer: str) -> None:
    assert not grade(answer, expected(12.5, abs_tol=0.05), units=UNITS)


@pytest.mark.parametrize(
    ("answer", "value", "right"),
    [
        ("1,234,567", 1234567, True),
        ("1_234_567", 1234567, True),
        ("1,234.5", 1234.5, True),
        ("12,34,567", 1234567, False),
        ("1,234_567", 1234567, False),
        ("1234,567", 1234567, False),
        ("1,234", 1.234, False),
        ("\N{MINUS SIGN}3", -3, True),
        (".5", 0.5, True),
        ("5.", 5, True),
        (".", 0, False),
        ("0", 0, True),
        ("-0", 0, True),
        ("12.5%", 0.125, True),
        ("0.125", 12.5, False),
        ("12345678901234567891", 12345678901234567890, False),
        ("12345678901234567890", 12345678901234567890, True),
    ],
)
def test_how_numbers_are_written(answer: str, value: float, right: bool) -> None:
    assert grade(answer, expected(value)) is right


def test_tolerances_are_decimal_and_the_larger_counts() -> None:
    assert grade("0.3", expected(0.2, abs_tol=0.1))
    assert not grade("0.30001", expected(0.2, abs_tol=0.1))
    assert grade("110", expected(100, abs_tol=1, rel_tol=0.1))
    assert not grade("110.1", expected(100, abs_tol=1, rel_tol=0.1))
    assert grade("-110", expected(-100, rel_tol=0.1))


@pytest.mark.parametrize(
    ("answer", "value", "right"),
    [
        ("North  West\n", "north west", True),
        ("CAFE\N{COMBINING ACUTE ACCENT}", "caf\N{LATIN SMALL LETTER E WITH ACUTE}", True),
        ("Straße", "STRASSE", True),
        ("north", "north west", False),
        ("north west, south", "north west", False),
        ("3", "3", True),
        ("3.0", "3", False),
        ("", "x", False),
    ],
)
def test_text_is_the_whole_text(answer: str, value: str, right: bool) -> None:
    assert grade(answer, expected(value)) is right


@pytest.mark.parametrize(
    ("answer", "right"),
    [
        ("a, b, b, 2", True),
        ("2,b,A,b", True),
        ("b\nb\n2.0\na\n", True),
        ("b,\nb,\n2,\na", True),
        ("a, b, 2", False),
        ("a, b, b, b, 2", False),
        ("a, b, b, 2, c", False),
        ("a, b, b", False),
        ("a b b 2", False),
        ("", False),
    ],
)
def test_lists_have_no_order_but_duplicates_count(answer: str, right: bool) -> None:
    assert grade(answer, expected(["a", "b", "b", 2])) is right


def test_numbers_of_a_list_are_matched_within_tolerance() -> None:
    value = expected([1.0, 1.1, 5], abs_tol=0.1)
    assert grade("5.1, 1.2, 0.9", value)
    assert not grade("5.1, 1.2, 1.2", value)


def test_items_that_hold_a_comma_stand_on_lines() -> None:
    assert grade("Paris, France\nRome, Italy", expected(["Rome, Italy", "Paris, France"]))


@pytest.mark.parametrize(
    "fields",
    [
        {"type": "number", "value": "3"},
        {"type": "number", "value": True},
        {"type": "number", "value": math.nan},
        {"type": "number", "value": math.inf},
        {"type": "text", "value": ""},
        {"type": "text", "value": 3},
        {"type": "list", "value": "a"},
        {"type": "list", "value": [True]},
        {"type": "list", "value": []},
        {"type": "date", "value": "x"},
        {"type": "number", "value": 3, "abs_tol": -1},
        {"type": "number", "value": 3, "abs_tol": math.inf},
        {"type": "number", "value": 3, "tol": 1},
    ],
)
def test_a_right_answer_must_be_well_formed(fields: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        Expected.model_validate(fields)


finite = st.floats(allow_nan=False, allow_infinity=False)


@PATIENT
@given(st.integers() | finite)
def test_the_right_number_as_python_writes_it_is_right(value: int | float) -> None:
    assert grade(str(value), expected(value))


@PATIENT
@given(st.integers(min_value=-(10**15), max_value=10**15))
def test_thousands_separators_do_not_matter(value: int) -> None:
    assert numbers(f"{value:,}") == numbers(f"{value:_}") == (Decimal(value),)


@PATIENT
@given(st.text(), finite)
def test_a_number_is_right_only_when_it_is_close(answer: str, value: float) -> None:
    tolerance = abs(value) / 100
    if grade(answer, expected(value, abs_tol=tolerance)) and fold(answer) != fold(str(value)):
        meant = numbers(answer)
        assert any(abs(number - Decimal(str(value))) <= Decimal(str(tolerance)) for number in meant)


@PATIENT
@given(st.text(max_size=200), st.text(min_size=1))
def test_text_never_faults(answer: str, value: str) -> None:
    assert grade(answer, expected(value)) is (fold(answer) == fold(value))


words = st.text(st.characters(categories=["L"], max_codepoint=500), min_size=1).filter(fold)


@PATIENT
@given(st.lists(words, min_size=2), st.randoms(use_true_random=False))
def test_any_order_of_a_list_is_right_and_one_more_or_less_is_not(
    items: list[str], rng: random.Random
) -> None:
    shuffled = rng.sample(items, len(items))
    assert grade(", ".join(shuffled), expected(items))
    assert grade("\n".join(shuffled), expected(items))
    assert not grade(", ".join([*shuffled, items[0]]), expected(items))
    assert not grade(", ".join(shuffled[1:]), expected(items))


@PATIENT
@given(st.text(alphabet="0123456789.,_-+e%$ metrs", max_size=30))
def test_no_number_text_faults(answer: str) -> None:
    for number in numbers(answer, UNITS):
        assert number.is_finite()


@pytest.mark.parametrize("text", ["Smith, John", "smith,  john\n"])
def test_an_item_may_hold_a_comma_when_it_is_the_only_one(text: str) -> None:
    assert grade(text, Expected(type="list", value=("Smith, John",)))
