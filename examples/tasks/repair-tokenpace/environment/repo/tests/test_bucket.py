import pytest

from tokenpace import Bucket, Limit, LimitError


def test_limits_are_read():
    assert Limit.parse("5/s") == Limit(5, 1, 5)
    assert Limit.parse("90 / m") == Limit(90, 60, 90)
    assert str(Limit.parse("2/10s burst 4")) == "2/10s burst 4"


@pytest.mark.parametrize("text", ["", "5", "5/w", "0/s", "5/0s", "-1/s", "5/s burst 0"])
def test_other_texts_are_no_limits(text):
    with pytest.raises(LimitError):
        Limit.parse(text)


def test_a_bucket_starts_full():
    bucket = Bucket.from_text("5/s")
    assert bucket.tokens(now=100.0) == 5
    assert bucket.take(5, now=100.0)
    assert not bucket.take(1, now=100.0)


def test_tokens_flow_in():
    bucket = Bucket.from_text("2/10s burst 4")
    assert bucket.take(4, now=0.0)
    assert bucket.tokens(now=5.0) == 1
    assert bucket.tokens(now=15.0) == 3


def test_a_bucket_never_holds_more_than_its_burst():
    bucket = Bucket.from_text("5/s burst 2")
    assert bucket.tokens(now=0.0) == 2
    assert bucket.tokens(now=60.0) == 2


def test_taking_is_all_or_nothing():
    bucket = Bucket.from_text("3/m")
    assert not bucket.take(4, now=0.0)
    assert bucket.tokens(now=0.0) == 3


def test_waiting_time():
    bucket = Bucket.from_text("2/10s burst 4")
    bucket.take(3, now=0.0)
    assert bucket.wait(1, now=0.0) == 0.0
    assert bucket.wait(3, now=0.0) == 10.0
    with pytest.raises(ValueError):
        bucket.wait(5, now=0.0)


def test_time_does_not_go_back():
    bucket = Bucket.from_text("1/s")
    bucket.take(1, now=10.0)
    assert bucket.tokens(now=5.0) == 0
    assert bucket.tokens(now=11.0) == 1
