from __future__ import annotations

import pytest

from harness_adapters.tasks.globs import matches


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
