import pytest

from tiercache import Cache, Stats, memoize
from tiercache.deadlines import Deadlines
from tiercache.recency import Recency


def test_recency_orders_keys_by_use():
    recency = Recency()
    for key in "abca":
        recency.touch(key)
    assert list(recency) == ["b", "c", "a"]
    recency.forget("b")
    assert recency.oldest() == "c"


def test_no_keys_no_oldest():
    with pytest.raises(LookupError):
        Recency().oldest()


def test_deadlines_come_up_in_order():
    deadlines = Deadlines()
    deadlines.set("late", 20)
    deadlines.set("early", 10)
    deadlines.set("never", None)
    assert deadlines.due(9) == []
    assert deadlines.due(30) == ["early", "late"]
    assert deadlines.due(30) == []


def test_a_forgotten_key_is_not_over():
    deadlines = Deadlines()
    deadlines.set("a", 10)
    deadlines.forget("a")
    assert not deadlines.over("a", 99)


def test_hit_rate():
    assert Stats().as_dict()["hit_rate"] == 0.0
    assert Stats(hits=2, misses=1).as_dict()["hit_rate"] == 0.6667


def test_memoize_calls_once(clock):
    calls = []

    @memoize(Cache(capacity=8, ttl=60, clock=clock))
    def double(number):
        calls.append(number)
        return number * 2

    assert [double(2), double(2), double(3)] == [4, 4, 6]
    clock.now += 60
    assert double(2) == 4
    assert calls == [2, 3, 2]
