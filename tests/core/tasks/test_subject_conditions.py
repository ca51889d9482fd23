"""The conditions under which hidden tests can be made to run."""

from __future__ import annotations

import subprocess
import sys
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from harness_adapters.sandbox.base import FileEntry
from harness_adapters.sandbox.providers import provider
from harness_adapters.tasks.subject import conditions, verify_tests
from harness_adapters.tasks.subject.conditions import Conditions
from harness_adapters.types import Task, TaskMetadata

TESTS = """
import datetime, os, time
seen = []

def test_first(subject):
    seen.append(1)
    assert subject.eval("import datetime; result = datetime.date.today().year") == YEAR

def test_second(subject):
    assert seen == [1]

def test_here(subject):
    assert datetime.datetime.now().year == YEAR == time.localtime().tm_year

def test_zone(subject):
    asked = "import time; result = time.localtime().tm_gmtoff // 3600"
    assert (subject.eval(asked), time.localtime().tm_gmtoff // 3600) == (ZONE, ZONE)
"""


async def test_clock_order_and_zone_change_for_tests_and_code(tmp_path: Path) -> None:
    sandboxes = await provider("bubblewrap")
    later = datetime.now() + timedelta(days=800)
    shifted = Conditions(order=4, clock_shift=800 * 86_400, timezone="Pacific/Kiritimati")
    results = {}
    for name, now in (("usual", Conditions()), ("other", shifted)):
        folder = tmp_path / name
        folder.mkdir()
        year = later.year if now.clock_shift else datetime.now().year
        zone = 14 if now.timezone else 0
        tests = TESTS.replace("YEAR", str(year)).replace("ZONE", str(zone))
        (folder / "test_when.py").write_text(tests)
        task = Task(
            id="t",
            instruction="x",
            path=tmp_path,
            metadata=TaskMetadata(kind="repair", cluster="c"),
            environment={} if now.timezone else {"TZ": "UTC"},
        )
        with conditions.under(now):
            report = await verify_tests(
                task, {"a.py": FileEntry(content=b"")}, sandboxes, tests_dir=folder, seconds=120
            )
        assert not report.broke
        results[name] = dict(report.results)
        failed = [(test, report.reasons[test]) for test in report.not_passed]
        assert [test for test, _ in failed if "second" not in test] == [], failed
    assert results["usual"]["test_when.py::test_second"] == "passed"
    assert results["other"]["test_when.py::test_second"] == "failed", "order 4 puts it first"


def test_outside_nothing_is_changed() -> None:
    with conditions.under(Conditions(order=1)):
        assert conditions.current().order == 1
    assert conditions.current() == Conditions()
    assert conditions.current().before == ""


SCRIPT = """
import datetime, time
from datetime import date as early_date
first = time.time()
exec(open(PATH).read(), names := {"__name__": "before"})
names["shift"](1000 * 86400.0)
from datetime import date, datetime as moment, timedelta, timezone
assert 999 * 86400 < time.time() - first < 1001 * 86400
assert abs(time.time_ns() / 1e9 - time.time()) < 5
day = date.today()
assert day == moment.now().date() == moment.today().date()
assert abs(moment.now(timezone.utc).timestamp() - time.time()) < 5
assert time.strftime("%Y-%m-%d") == day.isoformat() == time.strftime("%Y-%m-%d", time.localtime())
assert str(day.year) in time.ctime() and str(day.year) in time.asctime()
assert time.gmtime(0).tm_year == 1970
assert isinstance(moment(2020, 1, 1), datetime.date) and isinstance(early_date(2020, 1, 1), date)
assert isinstance(moment(2020, 1, 1) + timedelta(1), moment)
assert moment.fromisoformat("2020-01-02").isoformat() == "2020-01-02T00:00:00"
"""


def test_the_clock_moves_and_nothing_else() -> None:
    path = Path(conditions.__file__).with_name("clock.py")
    done = subprocess.run(
        [sys.executable, "-I", "-c", SCRIPT.replace("PATH", repr(str(path)))],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("order", [None, 1])
def test_what_conditions_put_into_the_environment(order: int | None) -> None:
    found = Conditions(order=order, hash_seed=7, timezone="Asia/Kolkata").environment
    assert found == {"TZ": "Asia/Kolkata", "PYTHONHASHSEED": "7"}
    assert Conditions(order=order).environment == {}
