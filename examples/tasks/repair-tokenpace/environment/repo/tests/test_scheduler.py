import pytest

from tokenpace import Scheduler


def test_jobs_go_as_far_as_the_limit_allows():
    scheduler = Scheduler({"mail": "2/m"})
    for name in "abc":
        scheduler.add("mail", name)
    assert scheduler.due(now=0.0) == ["a", "b"]
    assert scheduler.pending() == {"mail": 1}
    assert scheduler.due(now=30.0) == ["c"]


def test_higher_priority_goes_first():
    scheduler = Scheduler({"mail": "1/s"})
    scheduler.add("mail", "later")
    scheduler.add("mail", "urgent", priority=5)
    assert scheduler.due(now=0.0) == ["urgent"]


def test_channels_do_not_hold_each_other_back():
    scheduler = Scheduler({"mail": "1/h", "push": "10/s"})
    for name in ("m1", "m2"):
        scheduler.add("mail", name)
    scheduler.add("push", "p1")
    assert scheduler.due(now=0.0) == ["m1", "p1"]


def test_a_costly_job_holds_back_those_behind_it():
    scheduler = Scheduler({"mail": "1/s burst 3"})
    scheduler.add("mail", "a", cost=2)
    scheduler.add("mail", "b", cost=3)
    scheduler.add("mail", "c")
    assert scheduler.due(now=0.0) == ["a"]
    assert scheduler.next_due(now=0.0) == 2.0


def test_looking_often_does_not_slow_the_flow():
    scheduler = Scheduler({"mail": "60/m burst 1"})
    for number in range(3):
        scheduler.add("mail", f"job {number}")
    sent = {tick / 4: scheduler.due(now=tick / 4) for tick in range(12)}
    assert {now: names for now, names in sent.items() if names} == {
        0.0: ["job 0"],
        1.0: ["job 1"],
        2.0: ["job 2"],
    }


def test_cancelling():
    scheduler = Scheduler({"mail": "1/s", "push": "1/s"})
    for channel in ("mail", "push"):
        scheduler.add(channel, "news")
    scheduler.add("mail", "bill")
    assert scheduler.cancel("news") == 2
    assert scheduler.due(now=0.0) == ["bill"]
    assert scheduler.next_due(now=0.0) is None


def test_wrong_jobs():
    scheduler = Scheduler({"mail": "1/s"})
    with pytest.raises(KeyError):
        scheduler.add("fax", "x")
    with pytest.raises(ValueError, match="1 to 1"):
        scheduler.add("mail", "x", cost=2)
