def run(subject, limit, steps):
    """Results of bucket calls: (method, arguments) in turn."""
    return subject.eval(f"""
from tokenpace import Bucket
bucket = Bucket.from_text({limit!r})
result = [getattr(bucket, method)(*arguments) for method, *arguments in {steps!r}]
""")


def test_failed_attempts_cost_nothing(subject):
    steps = [("take", 1, 0.0)] + [("take", 1, tick / 10) for tick in range(1, 31)]
    taken = run(subject, "1/s burst 1", steps)
    assert [number / 10 for number, success in enumerate(taken) if success] == [0.0, 1.0, 2.0, 3.0]


def test_looking_at_the_level_often(subject):
    steps = [("take", 6, 0.0)] + [("tokens", float(second)) for second in range(10, 61, 10)]
    assert run(subject, "6/2m", steps) == [True, 0, 1, 1, 2, 2, 3]


def test_waiting_times_take_fractions_into_account(subject):
    steps = [("take", 2, 0.0), ("wait", 1, 1.0), ("wait", 1, 2.5), ("wait", 2, 2.5)]
    assert run(subject, "1/4s burst 2", steps) == [True, 3.0, 1.5, 5.5]


def test_a_scheduler_that_is_asked_often(subject):
    sent = subject.eval("""
from tokenpace import Scheduler
scheduler = Scheduler({"a": "30/m burst 1", "b": "3/4s burst 2"})
for number in range(4):
    scheduler.add("a", f"a{number}")
    scheduler.add("b", f"b{number}")
result = []
for tick in range(0, 50, 2):
    for name in scheduler.due(now=tick / 10):
        result.append([name, tick / 10])
""")
    assert sent == [["a0", 0.0], ["b0", 0.0], ["b1", 0.0], ["b2", 1.4], ["a1", 2.0], ["b3", 2.8],
                    ["a2", 4.0]]  # fmt: skip


def test_a_full_bucket_does_not_grow(subject):
    steps = [("tokens", 0.0), ("tokens", 500.0), ("take", 3, 500.0), ("take", 1, 500.0)]
    assert run(subject, "1/s burst 3", steps) == [3, 3, True, False]


def test_whole_steps(subject):
    steps = [("take", 5, 7.0), ("tokens", 8.0), ("take", 2, 9.0), ("tokens", 9.0)]
    assert run(subject, "1/s burst 5", steps) == [True, 1, True, 0]


def test_clocks_that_go_back(subject):
    steps = [("take", 2, 50.0), ("tokens", 10.0), ("take", 1, 49.0), ("tokens", 51.0)]
    assert run(subject, "2/s", steps) == [True, 0, False, 2]


def test_limits(subject):
    texts = ["7/h", "3/2m burst 9", " 10 / 5s "]
    found = subject.eval(
        f"from tokenpace import Limit\nresult = [str(Limit.parse(t)) for t in {texts!r}]"
    )
    assert found == ["7/3600s", "3/120s burst 9", "10/5s"]


def test_texts_that_are_no_limits(subject):
    for text in ("x/s", "1/", "1/s burst", "1.5/s"):
        with subject.raises("LimitError"):
            run(subject, text, [])


def test_order_of_jobs(subject):
    order = subject.eval("""
from tokenpace import Scheduler
scheduler = Scheduler({"x": "9/s", "y": "9/s"})
for name, channel, priority in (("a", "x", 0), ("b", "y", 2), ("c", "x", 2), ("d", "y", -1)):
    scheduler.add(channel, name, priority=priority)
result = scheduler.due(now=3.0)
""")
    assert order == ["b", "c", "a", "d"]


def test_cancelling_and_next_due(subject):
    found = subject.eval("""
from tokenpace import Scheduler
scheduler = Scheduler({"x": "1/10s"})
for name in "aba":
    scheduler.add("x", name)
result = [scheduler.due(now=0), scheduler.next_due(now=0), scheduler.cancel("a"),
          scheduler.pending(), scheduler.cancel("zzz")]
""")
    assert found == [["a"], 10.0, 1, {"x": 1}, 0]


def test_too_many_tokens(subject):
    with subject.raises("ValueError"):
        run(subject, "2/s", [("wait", 3, 0.0)])
