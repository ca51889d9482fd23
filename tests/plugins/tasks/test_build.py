from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from ha_task_build.kind import Build
from harness_adapters import BadInput, BrokenTask, Task, Verdict

Write = Callable[..., Task]
Grade = Callable[..., Awaitable[Verdict]]
BUILD = Build({})
TOTAL = "def total(prices):\n    return sum(prices)\n"
BOTH = TOTAL + "def count(prices):\n    return len(prices)\n"


@pytest.mark.parametrize(
    ("shop", "score"),
    [
        (BOTH, 1.0),
        (TOTAL, 0.5),
        (TOTAL + "def count(prices):\n    return 2\n", 0.75),
        ("def total(prices):\n    raise NotImplementedError\n", 0.0),
        ("", 0.0),
    ],
)
async def test_the_score_is_the_share_of_tests_that_pass(
    build_task: Write, grade: Grade, shop: str, score: float
) -> None:
    verdict = await grade(BUILD, build_task(), files={"shop.py": shop})
    assert (verdict.passed, verdict.score) == (score == 1, score)
    assert len(verdict.tests) == 4
    assert not verdict.broke_verifier


async def test_doing_nothing_scores_nothing(build_task: Write, grade: Grade) -> None:
    verdict = await grade(BUILD, build_task())
    assert (verdict.passed, verdict.score, set(verdict.tests.values())) == (False, 0.0, {"error"})


@pytest.mark.parametrize(
    "script",
    [
        "echo more >> CONTRACT.md",
        "rm CONTRACT.md",
        "rm CONTRACT.md; ln -s shop.py CONTRACT.md",
        "echo 'def test_total(): pass' > tests/test_example.py",
        "rm -r tests",
    ],
)
async def test_changing_a_protected_file_costs_everything(
    build_task: Write, grade: Grade, script: str
) -> None:
    verdict = await grade(BUILD, build_task(), files={"shop.py": BOTH}, script=script)
    assert (verdict.passed, verdict.score, verdict.broke_verifier) == (False, 0.0, False)
    assert verdict.detail.startswith("a protected file was changed: ")


async def test_tests_and_settings_of_its_own_cost_nothing(build_task: Write, grade: Grade) -> None:
    script = """
    echo 'def test_mine(): pass' > tests/test_mine.py
    mkdir -p tests/__pycache__; echo x > tests/__pycache__/test_example.pyc
    echo 'import os; os._exit(0)' > conftest.py
    printf '[project]\\nname = "shop"\\n' > pyproject.toml
    chmod +x CONTRACT.md
    """
    assert (await grade(BUILD, build_task(), files={"shop.py": BOTH}, script=script)).passed


def test_policy_leaves_new_tests_free(build_task: Write) -> None:
    protected = BUILD.policy(build_task()).protected
    assert set(protected) == {"tests/test_example.py", "CONTRACT.md"}


def test_a_task_without_hidden_tests_is_broken(build_task: Write) -> None:
    task = build_task({"tests/test_shop.py": "def helper(): ...\n"})
    with pytest.raises(BrokenTask, match="tests: a build task needs hidden tests there"):
        BUILD.check(task)


def test_options_are_checked(build_task: Write) -> None:
    toml = build_task().path.joinpath("task.toml").read_text()
    task = build_task({"task.toml": toml + "[metadata.harness_adapters.build]\nweight = 1\n"})
    with pytest.raises(BrokenTask, match=r"\[metadata.harness_adapters.build\] unknown field"):
        BUILD.check(task)
    with pytest.raises(BadInput, match="no option 'speed'"):
        Build({"speed": 1})
