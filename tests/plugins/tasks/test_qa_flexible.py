"""Answers of which only a text says what is right, as in SmolDataEnvs."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ha_task_qa.grading import Expected, grade
from ha_task_qa.symbolic import same_formula

PATIENT = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


def right(answer: str, gold: str, question: str = "") -> bool:
    expected = Expected.model_validate(
        {"type": "flexible", "value": gold, "abs_tol": 1e-3, "rel_tol": 1e-3}
    )
    return grade(answer, expected, units=frozenset(question.split()))


@pytest.mark.parametrize(
    ("gold", "answers"),
    [
        # exact, without regard to case and white space
        ("Blue Whale", ["blue whale", " Blue   Whale\n", '"Blue Whale"', "'blue whale'."]),
        # numbers, 1e-3 absolute or relative
        ("12.5", ["12.5", "12.50", "12.5004", "12.512", "1.25e1", "12.5.", "`12.5`", "25/2"]),
        ("0.0004", ["0.0004", "0.001", "4e-4"]),
        ("1,234", ["1234", "1,234", "1234.9", "1_234"]),
        ("-3", ["-3", "\N{MINUS SIGN}3.002"]),
        # percentages and fractions
        ("12.5%", ["12.5%", "12.5", "0.125", "12.5 %"]),
        ("0.125", ["0.125", "12.5%"]),
        # yes and no
        ("Yes", ["yes", "Y", "true", "Yes."]),
        ("no", ["No", "n", "FALSE"]),
        # lists, in any order
        ("oak, elm, ash", ["ash, oak, elm", "Oak,Elm,Ash", "[elm, ash, oak]"]),
        ("oak, elm, ash", ["oak\nelm\nash", "'oak'; 'elm'; ash"]),
        ("1, 2.5, oak", ["oak, 2.5, 1", "2.5001,1.0,oak"]),
        # formulas
        ("x^2 + 2*x + 1", ["(x+1)^2", "1 + 2*x + x**2", "(1+x)*(x+1)"]),
        ("sqrt(2)/2", ["1/sqrt(2)", "0.70711", "2^(-1/2)"]),
        ("3*pi", ["pi*3", "\N{GREEK SMALL LETTER PI}*3", "9.425"]),
    ],
)  # fmt: skip
def test_all_that_the_published_grader_takes(gold: str, answers: list[str]) -> None:
    assert [answer for answer in answers if not right(answer, gold)] == []


@pytest.mark.parametrize(
    ("gold", "answers"),
    [
        # the first number of a text is no answer
        ("12.5", ["12.5 or 13", "12.5 13 14", "The answer is 12.5", "12.5, 13", "12.5\n13"]),
        ("12.5", ["13", "12.6", "125%"]),
        ("12.5", ["", " ", "nan", "inf", "1e999", "12.5 million", "x", "[]"]),
        ("3", ["3 4 5 6 7 8 9", "1,2,3", "maybe 3"]),
        ("1,234", ["234, 1", "1, 234", "1.234"]),
        ("Yes", ["no", "yes and no", "yes/no", "1", "perhaps yes"]),
        ("oak, elm", ["oak", "oak, elm, ash", "oak, oak, elm", "elm", "oak elm"]),
        ("1, 2, 3", ["1, 2, 4", "1, 2", "1, 2, 2", "123"]),
        ("x^2", ["x", "2*x", "x^2 + 1", "y^2", "9**9**9**9", "x" * 500, "(" * 300]),
        ("Blue Whale", ["blue", "whale blue", "blue whale, or shark"]),
        ("0.125", ["125", "1.25", "0.13"]),
    ],
)  # fmt: skip
def test_what_is_wrong_or_fools_it(gold: str, answers: list[str]) -> None:
    assert [answer for answer in answers if right(answer, gold)] == []


def test_a_question_for_a_share_takes_it_in_both_ways() -> None:
    assert right("12.5", "0.125", "What percentage of rows is red?")
    assert right("0.125", "12.5", "Which fraction is it, in percent?")
    assert not right("12.5", "0.125", "What is the mean height?")


@PATIENT
@given(st.text(max_size=120), st.text(min_size=1, max_size=60))
def test_no_text_breaks_it(answer: str, gold: str) -> None:
    right(answer, gold)
    if gold.strip().strip("\"'`").strip(" ."):
        assert right(gold, gold)


@PATIENT
@given(st.text(alphabet="0123456789+-*/^().xye sqrt", max_size=60))
def test_no_formula_takes_long_or_raises(text: str) -> None:
    same_formula(text, text)


@pytest.mark.parametrize(
    "text",
    [
        "f(x)", "a.b", "[1]", "x if y else z", "lambda: 1", "1 < 2", "open('a')", "True+1",
        "'a'*9", "1/0", "10**400", "exp(exp(exp(9)))", "__import__('os')",
    ],
)  # fmt: skip
def test_only_formulas_are_formulas(text: str) -> None:
    assert not same_formula(text, text)
