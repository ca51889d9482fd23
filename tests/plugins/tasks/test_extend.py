from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from ha_task_extend.kind import Extend
from harness_adapters import BadInput, BrokenTask, Task, Verdict

Write = Callable[..., Task]
Grade = Callable[..., Awaitable[Verdict]]
EXTEND = Extend({})
TOTAL = "def total(prices):\n    return sum(prices)\n"
COUNT = "def count(prices):\n    return len(prices)\n"


@pytest.mark.parametrize(
    ("shop", "score"),
    [
        (TOTAL + COUNT, 1.0),
        (TOTAL + "def count(prices):\n    return 2\n", 0.5),
        (TOTAL, 0.0),
        (COUNT, 0.0),
        ("def total(prices):\n    return 7\n" + COUNT, 0.0),
    ],
)
async def test_the_share_of_new_tests_counts_only_while_all_old_ones_pass(
    extend_task: Write, grade: Grade, shop: str, score: float
) -> None:
    verdict = await grade(EXTEND, extend_task(), files={"shop.py": shop})
    assert (verdict.passed, verdict.score) == (score == 1, score)
    assert len(verdict.tests) == 4


async def test_doing_nothing_scores_nothing(extend_task: Write, grade: Grade) -> None:
    verdict = await grade(EXTEND, extend_task())
    assert (verdict.passed, verdict.score) == (False, 0.0)
    assert verdict.tests["test_shop.py::test_total"] == "passed"


async def test_old_tests_are_as_they_were(extend_task: Write, grade: Grade) -> None:
    script = "rm -r tests; echo 'import os; os._exit(0)' > conftest.py"
    files = {"shop.py": TOTAL + COUNT}
    assert (await grade(EXTEND, extend_task(), files=files, script=script)).passed


def test_policy_protects_the_tests_that_stand_there(extend_task: Write) -> None:
    assert EXTEND.policy(extend_task()).protected == ("tests/test_total.py",)


@pytest.mark.parametrize(
    ("new", "message"),
    [
        ('["test_shop.py::test_cuont"]', "new_tests: there is no test 'test_shop.py::test_cuont'"),
        (
            str([f"test_shop.py::test_{n}" for n in ("total", "nothing", "count")])[:-1]
            + ", 'test_shop.py::test_count_of_nothing[x]']",
            "every hidden test is among new_tests",
        ),
        ("[]", r"new_tests: Tuple should have at least 1 item"),
    ],
)
def test_a_broken_bundle_is_found_before_a_run(extend_task: Write, new: str, message: str) -> None:
    toml = extend_task().path.joinpath("task.toml").read_text()
    right = toml.split("new_tests = ")[1].splitlines()[0]
    with pytest.raises(BrokenTask, match=message):
        EXTEND.check(extend_task({"task.toml": toml.replace(right, new)}))


def test_the_kind_takes_no_options() -> None:
    with pytest.raises(BadInput, match="no option 'speed'"):
        Extend({"speed": 1})
