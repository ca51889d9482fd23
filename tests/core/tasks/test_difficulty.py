from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness_adapters.tasks.difficulty import solve_rate


@pytest.mark.parametrize(
    ("text", "rate"),
    [
        ("3/8", 0.375),
        (" 0/8 ", 0.0),
        ("8/8", 1.0),
        ("0.25", 0.25),
        (".5", 0.5),
        ("0", 0.0),
        ("1.0", 1.0),
        ("easy", None),
        ("", None),
        ("9/8", None),
        ("1/0", None),
        ("1.5", None),
        ("-0.5", None),
        ("nan", None),
        ("3/8/2", None),
        ("1e-1", None),
    ],
)
def test_only_a_measured_rate_is_one(text: str, rate: float | None) -> None:
    assert solve_rate(text) == rate


@settings(deadline=None)
@given(st.text(max_size=30))
def test_any_text_gives_a_rate_or_nothing(text: str) -> None:
    rate = solve_rate(text)
    assert rate is None or 0 <= rate <= 1
