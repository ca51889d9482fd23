CLOCK = """
from tiercache import Cache
class Clock:
    now = 0.0
    def __call__(self):
        return self.now
clock = Clock()
"""


def run(subject, lines):
    return subject.eval(CLOCK + lines)


def test_a_longer_life_replaces_a_shorter_one(subject):
    found = run(subject, """
cache = Cache(capacity=5, ttl=10, clock=clock)
cache.put("k", "old")
cache.put("k", "new", ttl=100)
clock.now = 50
result = [cache.sweep(), cache.get("k"), len(cache)]
""")
    assert found == [0, "new", 1]


def test_no_time_to_live_replaces_one(subject):
    found = run(subject, """
cache = Cache(capacity=5, ttl=10, clock=clock)
cache.put("k", 1)
cache.put("k", 2, ttl=None)
clock.now = 11
cache.put("other", 0)
result = [cache.get("k"), cache.stats.expired]
""")
    assert found == [2, 0]


def test_an_entry_written_again_after_deletion(subject):
    found = run(subject, """
cache = Cache(capacity=5, ttl=10, clock=clock)
cache.put("k", 1)
cache.delete("k")
clock.now = 6
cache.put("k", 2)
clock.now = 12
result = [cache.keys(), cache.get("k")]
""")
    assert found == [["k"], 2]


def test_entries_written_many_times(subject):
    found = run(subject, """
cache = Cache(capacity=5, ttl=10, clock=clock)
for second in range(0, 40, 4):
    clock.now = float(second)
    cache.put("k", second)
    cache.put(second, "x")
result = [cache.get("k"), cache.keys(), cache.stats.expired]
""")
    assert found == [36, [28, 32, 36, "k"], 7]


def test_a_shorter_life_replaces_a_longer_one(subject):
    found = run(subject, """
cache = Cache(capacity=5, ttl=100, clock=clock)
cache.put("k", 1)
cache.put("k", 2, ttl=5)
clock.now = 5
result = [cache.sweep(), cache.get("k"), cache.sweep()]
clock.now = 100
result.append(cache.sweep())
""")
    assert found == [1, None, 0, 0]


def test_entries_grow_too_old(subject):
    found = run(subject, """
cache = Cache(capacity=5, ttl=10, clock=clock)
cache.put("a", 1)
clock.now = 9.5
result = ["a" in cache]
clock.now = 10
result += ["a" in cache, cache.get("a", default="gone"), cache.stats.as_dict()]
""")
    stats = {"hits": 0, "misses": 1, "expired": 1, "evicted": 0, "hit_rate": 0.0}
    assert found == [True, False, "gone", stats]


def test_the_least_recently_used_goes(subject):
    found = run(subject, """
cache = Cache(capacity=3)
for key in "abc":
    cache.put(key, key)
cache.get("a")
cache.put("b", "B")
cache.put("d", "d")
result = cache.keys()
""")
    assert found == ["a", "b", "d"]


def test_a_look_is_no_use(subject):
    found = run(subject, """
cache = Cache(capacity=2)
cache.put("a", 1)
cache.put("b", 2)
"a" in cache
cache.put("c", 3)
result = cache.keys()
""")
    assert found == ["b", "c"]


def test_falsy_values_are_values(subject):
    found = run(subject, """
cache = Cache(capacity=2)
cache.put("a", None)
cache.put("b", 0)
result = [cache.get("a", 1), cache.get("b", 1), cache.stats.hits]
""")
    assert found == [None, 0, 2]


def test_memoized_functions_do_not_share_results(subject):
    found = run(subject, """
from tiercache import memoize
cache = Cache(capacity=9)
@memoize(cache)
def one(x, y=0):
    return x + y
@memoize(cache)
def two(x, y=0):
    return x - y
result = [one(1, y=2), two(1, y=2), one(1, y=2), cache.stats.hits]
""")
    assert found == [3, -1, 3, 1]


def test_exceptions_are_not_kept(subject):
    found = run(subject, """
from tiercache import memoize
calls = []
@memoize(Cache(capacity=2))
def once(x):
    calls.append(x)
    if len(calls) == 1:
        raise KeyError(x)
    return x
try:
    once(5)
except KeyError:
    pass
result = [once(5), once(5), calls]
""")
    assert found == [5, 5, [5, 5]]


def test_keys_without_an_order(subject):
    found = run(subject, """
cache = Cache(capacity=4, ttl=1, clock=clock)
for key in ("a", 1, None, (2, "b")):
    cache.put(key, 0)
clock.now = 1
result = cache.sweep()
""")
    assert found == 4
