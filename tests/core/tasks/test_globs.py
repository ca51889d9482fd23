from __future__ import annotations

import pytest

from harness_adapters import Ledger, TaskPolicy
from harness_adapters.tasks.globs import matches, may_edit


@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        ("setup.cfg", "setup.cfg", True),
        ("setup.cfg", "sub/setup.cfg", False),
        ("setup.cfg", "setup_cfg", False),
        ("*.py", "a.py", True),
        ("*.py", "pkg/a.py", False),
        ("**/conftest.py", "conftest.py", True),
        ("**/conftest.py", "a/b/conftest.py", True),
        ("**/conftest.py", "a/myconftest.py", False),
        ("**/test_*.py", "a/test_x.py", True),
        ("**/test_*.py", "a/test_x/y.py", False),
        ("tests/**", "tests", True),
        ("tests/**", "tests/a/b", True),
        ("tests/**", "tests2/a", False),
        ("**", "a/b", True),
        ("./a/?.txt", "a/b.txt", True),
        ("a/?.txt", "a/bb.txt", False),
        ("a[0-9].txt", "a7.txt", True),
        ("a[!0-9].txt", "a7.txt", False),
        ("a[!0-9].txt", "a/.txt", False),
        ("a[", "a[", True),
        ("**/*.pth", "a/\n.pth", True),
        ("a**b", "axx/yyb", True),
    ],
)
def test_stars_stay_in_a_folder_and_double_stars_cross(
    pattern: str, path: str, expected: bool
) -> None:
    assert matches(path, [pattern]) is expected


def test_any_pattern_is_enough() -> None:
    assert matches("b", ("a", "b"))
    assert not matches("b", ())


@pytest.mark.parametrize(
    ("editable", "protected", "path", "may"),
    [
        (["**"], ["tests/test_a.py"], "tests/test_a.py", False),
        (["**/*.go"], ["**/*_test.go"], "ring/ring_test.go", False),
        (["**/*.go"], ["**/*_test.go"], "ring/ring.go", True),
        (["src/**"], ["**/*.test.ts"], "src/a.test.ts", False),
        (["tests/new/**"], ["tests/**"], "tests/new/a.py", True),
        (["tests/**"], ["tests/**"], "tests/a.py", True),
        (["./tests/a.py"], ["tests/**", "**/a.py"], "tests/a.py", True),
        (["pyproject.toml"], ["**/pyproject.toml"], "pyproject.toml", True),
        ([], ["tests/**"], "src/a.py", True),
        (["**"], ["*"], "README.md", False),
        (["tests/**"], ["tests/*"], "tests/a.py", False),
        (["tests/*.py"], ["tests/?.py"], "tests/a.py", False),
        (["tests/*_x.py"], ["tests/*.py"], "tests/a_x.py", True),
    ],
)
def test_an_editable_pattern_counts_where_it_is_the_narrower_one(
    editable: list[str], protected: list[str], path: str, may: bool
) -> None:
    """When graded and before the guard alike."""
    assert may_edit(path, editable=editable, protected=protected) is may
    policy = TaskPolicy(
        kind="extend", workdir="/work", editable=tuple(editable), protected=tuple(protected)
    )
    assert Ledger(policy).is_protected(f"/work/{path}") is not may
