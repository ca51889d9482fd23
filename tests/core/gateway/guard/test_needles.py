"""Many strings are found at once as they would be one by one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness_adapters.gateway.guard.needles import _PIECE, Needles

PAIR = Needles("time", "assert")


@given(
    st.lists(st.text("abé𝄞", min_size=1, max_size=4), min_size=1, max_size=6),
    st.text("abé𝄞\ud800", max_size=60),
)
def test_any_stands_where_one_by_one_would_be_found(needles: list[str], text: str) -> None:
    assert Needles(*needles).any_in(text) == any(needle in text for needle in needles)


@pytest.mark.parametrize("before", range(_PIECE - 6, _PIECE + 2))
def test_found_across_the_edges_of_what_is_looked_at_together(before: int) -> None:
    assert PAIR.any_in("x" * before + "assert" + "x" * _PIECE)
    assert not PAIR.any_in("x" * before + "asser." + "x" * _PIECE)


def test_half_of_a_surrogate_pair_hides_nothing() -> None:
    assert PAIR.any_in("\ud800 assert \udc00")
    assert not PAIR.any_in("ass\ud800ert")


def test_nothing_stands_in_nothing() -> None:
    assert not PAIR.any_in("")
