from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from ha_task_repair.kind import Repair
from harness_adapters import BadInput, BrokenTask, FileEntry, Task, TaskPolicy, Verdict
from harness_adapters.sandbox.base import SandboxProvider
from harness_adapters.tasks.protection import restored

Write = Callable[..., Task]
Grade = Callable[..., Awaitable[Verdict]]
FIX = {"shop/cart.py": "def total(prices):\n    return sum(prices)\n"}
REPAIR = Repair({})


async def test_the_fix_scores_one(repair_task: Write, grade: Grade) -> None:
    verdict = await grade(REPAIR, repair_task(), files=FIX)
    assert (verdict.passed, verdict.score, verdict.broke_verifier) == (True, 1.0, False)
    assert dict(verdict.tests) == {
        "test_cart.py::test_total": "passed",
        "test_cart.py::test_empty": "passed",
    }


async def test_doing_nothing_fails_by_an_assertion(repair_task: Write, grade: Grade) -> None:
    verdict = await grade(REPAIR, repair_task())
    assert (verdict.passed, verdict.score, verdict.broke_verifier) == (False, 0.0, False)
    assert verdict.tests["test_cart.py::test_total"] == "failed"
    assert verdict.detail.startswith(
        "1 of 2 tests did not pass; test_cart.py::test_total: AssertionError: assert 4 == 7"
    )


async def test_a_fix_that_breaks_something_else_scores_nothing(
    repair_task: Write, grade: Grade
) -> None:
    files = {"shop/cart.py": "def total(prices):\n    return prices[0] + sum(prices[1:])\n"}
    verdict = await grade(REPAIR, repair_task(), files=files)
    assert verdict.score == 0
    assert verdict.tests == {
        "test_cart.py::test_total": "passed",
        "test_cart.py::test_empty": "error",
    }


async def test_edited_tests_and_planted_hooks_change_nothing(
    repair_task: Write, grade: Grade
) -> None:
    script = """
    rm -r tests; echo 'not a folder' > tests
    for place in . shop; do
        for name in conftest.py sitecustomize.py usercustomize.py x.pth; do
            echo 'import os; os._exit(0)' > $place/$name
        done
    done
    printf '[pytest]\\naddopts = --collect-only\\n' > pytest.ini
    """
    assert (await grade(REPAIR, repair_task(), files=FIX, script=script)).passed
    assert not (await grade(REPAIR, repair_task(), script=script)).passed


async def test_a_hidden_test_that_does_not_exist_is_no_pass(
    repair_task: Write, grade: Grade
) -> None:
    toml = repair_task().path.joinpath("task.toml").read_text()
    task = repair_task({"task.toml": toml.replace("test_total", "test_totl")})
    verdict = await grade(REPAIR, task, files=FIX)
    assert (verdict.score, verdict.broke_verifier) == (0.0, True)
    assert verdict.detail == "no result for test_cart.py::test_totl"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("", r"\[metadata.harness_adapters.repair\] fail_to_pass: Field required"),
        ("fail_to_pass = []", "fail_to_pass: Tuple should have at least 1 item"),
        ('fail_to_pas = ["a"]', "unknown field 'fail_to_pas'; did you mean 'fail_to_pass'"),
    ],
)
def test_bad_options_name_file_and_field(
    repair_task: Write, sandboxes: SandboxProvider, line: str, message: str
) -> None:
    toml = repair_task().path.joinpath("task.toml").read_text()
    right = 'fail_to_pass = ["test_cart.py::test_total"]'
    task = repair_task({"task.toml": toml.replace(right, line)})
    with pytest.raises(BrokenTask, match=message) as caught:
        REPAIR.check(task)
    assert str(caught.value).startswith(f"{task.path}/task.toml: ")


def test_the_kind_takes_no_options() -> None:
    with pytest.raises(BadInput, match="no option 'speed'"):
        Repair({"speed": 1})


def test_policy_protects_tests_unless_the_task_says_otherwise(repair_task: Write) -> None:
    policy = REPAIR.policy(repair_task())
    assert {"tests/**", "**/conftest.py", "pyproject.toml"} <= set(policy.protected)
    assert policy.editable == ()
    toml = repair_task().path.joinpath("task.toml").read_text()
    more = 'cluster = "shop"\neditable = ["tests/**"]\nprotected = ["data/**"]\n'
    policy = REPAIR.policy(repair_task({"task.toml": toml.replace('cluster = "shop"\n', more)}))
    assert policy.editable == ("tests/**",)
    assert "data/**" in policy.protected


def entry(text: str) -> FileEntry:
    return FileEntry(content=text.encode())


def test_restoring() -> None:
    policy = TaskPolicy(
        protected=("tests/**", "setup.cfg", "**/conftest.py"), editable=("tests/a",)
    )
    original = {
        "a.py": entry("old"),
        "gone.py": entry("old"),
        "tests/a": entry("old"),
        "tests/b/c": entry("old"),
        "conftest.py": entry("old"),
        "setup.cfg": entry("old"),
    }
    tree = {
        "a.py": entry("new"),
        "tests/a": entry("new"),
        "tests/b": entry("a file where a folder was"),
        "tests/x": entry("planted"),
        "setup.cfg/inside": entry("a folder where a file was"),
        "conftest.py": entry("new"),
        "sub/conftest.py": entry("planted"),
        "sub/x.pth": entry("planted"),
        "new.py": entry("new"),
    }
    found = {path: e.content.decode() for path, e in restored(tree, original, policy).items()}
    assert found == {
        "a.py": "new",
        "new.py": "new",
        "tests/a": "new",
        "tests/b/c": "old",
        "conftest.py": "old",
        "setup.cfg": "old",
    }


def test_a_test_that_does_not_exist_is_found_before_a_run(repair_task: Write) -> None:
    toml = repair_task().path.joinpath("task.toml").read_text()
    for wrong in ("test_no_such.py::test_total", "test_cart.py::test_no_such"):
        right = toml.split('fail_to_pass = ["')[1].split('"')[0]
        task = repair_task({"task.toml": toml.replace(right, wrong)})
        with pytest.raises(BrokenTask, match=f"there is no test '{wrong}'"):
            REPAIR.check(task)


def test_a_test_of_the_agents_own_is_not_protected(repair_task: Write) -> None:
    """It is dropped before grading; blocking it would punish honest work."""
    policy = REPAIR.policy(repair_task())
    assert not any(pattern.startswith("**/test_") for pattern in policy.protected)
