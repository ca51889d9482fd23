import pytest

from tiercache import Cache


def test_an_entry_is_found():
    cache = Cache(capacity=2)
    cache.put("a", 1)
    assert cache.get("a") == 1
    assert cache.get("b", default=0) == 0


def test_a_cache_needs_room():
    with pytest.raises(ValueError):
        Cache(capacity=0)


def test_the_least_recently_used_entry_makes_room():
    cache = Cache(capacity=2)
    cache.put("a", 1)
    cache.put("b", 2)
    cache.get("a")
    cache.put("c", 3)
    assert cache.keys() == ["a", "c"]
    assert cache.stats.evicted == 1


def test_writing_is_a_use():
    cache = Cache(capacity=2)
    cache.put("a", 1)
    cache.put("b", 2)
    cache.put("a", 3)
    cache.put("c", 4)
    assert "b" not in cache and cache.get("a") == 3


def test_an_entry_grows_too_old(clock):
    cache = Cache(capacity=2, ttl=60, clock=clock)
    cache.put("a", 1)
    clock.now += 59
    assert "a" in cache
    clock.now += 1
    assert "a" not in cache and cache.get("a") is None
    assert cache.stats.expired == 1


def test_reading_does_not_prolong_a_life(clock):
    cache = Cache(capacity=2, ttl=60, clock=clock)
    cache.put("a", 1)
    clock.now += 40
    cache.get("a")
    clock.now += 40
    assert cache.get("a") is None


def test_an_old_entry_makes_room_before_a_used_one(clock):
    cache = Cache(capacity=2, clock=clock)
    cache.put("a", 1)
    cache.put("b", 2, ttl=10)
    clock.now += 10
    cache.put("c", 3)
    assert cache.keys() == ["a", "c"]
    assert cache.stats.evicted == 0


def test_a_rewritten_entry_lives_as_long_as_the_last_write_says(clock):
    cache = Cache(capacity=4, ttl=60, clock=clock)
    cache.put("a", 1)
    clock.now += 50
    cache.put("a", 2)
    clock.now += 20
    cache.put("b", 3)
    assert cache.get("a") == 2


def test_sweeping_tells_how_many_went(clock):
    cache = Cache(capacity=4, ttl=60, clock=clock)
    cache.put("a", 1)
    cache.put("b", 2, ttl=None)
    cache.put("c", 3, ttl=5)
    clock.now += 60
    assert cache.sweep() == 2
    assert len(cache) == 1


def test_deleting():
    cache = Cache(capacity=2)
    cache.put("a", 1)
    assert cache.delete("a") is True
    assert cache.delete("a") is False
