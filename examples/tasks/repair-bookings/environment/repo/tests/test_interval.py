import pytest

from bookings.interval import Interval, gaps, merged


def test_touching_intervals_do_not_overlap():
    assert not Interval(60, 120).overlaps(Interval(120, 180))
    assert Interval(60, 121).overlaps(Interval(120, 180))


def test_an_interval_must_have_length():
    with pytest.raises(ValueError):
        Interval(100, 100)


def test_clipping_to_bounds():
    assert Interval(10, 50).clipped(Interval(20, 40)) == Interval(20, 40)
    assert Interval(10, 20).clipped(Interval(20, 40)) is None


def test_merging_joins_what_touches():
    assert merged([Interval(30, 40), Interval(0, 10), Interval(10, 20)]) == [
        Interval(0, 20),
        Interval(30, 40),
    ]


def test_merging_overlapping_intervals():
    assert merged([Interval(0, 15), Interval(10, 25), Interval(20, 30)]) == [Interval(0, 30)]


def test_gaps_between_separate_intervals():
    free = gaps(Interval(0, 100), [Interval(20, 30), Interval(60, 100)])
    assert free == [Interval(0, 20), Interval(30, 60)]
