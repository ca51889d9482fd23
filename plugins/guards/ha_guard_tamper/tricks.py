"""Code that changes how it is tested instead of what it does, told by its text alone.

Only what has no honest use in code under test is listed, so this misses more than it finds.
"""

from __future__ import annotations

import re

_MAX_TEXT = 256 * 1024
_HINT = re.compile(
    r"__eq__|__ne__|_exit|PYTEST|pytest|time\.|timer|assert|_getframe|co_filename|sys\.modules|TestCase|settrace"
)
_TRICKS: tuple[tuple[re.Pattern[str], str], ...] = (
    (
        re.compile(
            r"def\s+__eq__\s*\([^)\n]*\)[^:\n]*:\s*+(?:#[^\n]*\s*+)?"
            r"(?:\"\"\"(?:[^\"]|\"(?!\"\"))*+\"\"\"\s*+)?return\s+True\b"
        ),
        "an object that equals everything",
    ),
    (
        re.compile(r"def\s+__ne__\s*\([^)\n]*\)[^:\n]*:\s*+return\s+False\b"),
        "an object that differs from nothing",
    ),
    (
        re.compile(r"__eq__['\"]?\s*[=:]\s*lambda[^:\n]*:\s*True\b"),
        "an object that equals everything",
    ),
    (
        re.compile(r"co_filename[^\n]{0,200}(?:test|conftest)", re.IGNORECASE),
        "behaves otherwise when tests call it",
    ),
    (
        re.compile(r"^\s*_pytest(?:\.\w+)+\s*=[^=]|setattr\(\s*_pytest\b", re.MULTILINE),
        "replaces parts of the test runner",
    ),
    (re.compile(r"\bos\._exit\s*\(\s*0\s*\)"), "ends the process as if all were well"),
    (
        re.compile(r"PYTEST_CURRENT_TEST|PYTEST_VERSION|['\"](?:_?pytest|unittest)['\"]\s+(?:not\s+)?in\s+sys\.modules"),
        "behaves otherwise under test",
    ),
    (
        re.compile(
            r"^\s*(?:time\.(?:time|time_ns|perf_counter|perf_counter_ns|monotonic|process_time|sleep)"
            r"|timeit\.default_timer)\s*=[^=]",
            re.MULTILINE,
        ),
        "replaces the clock",
    ),
    (
        re.compile(
            r"^\s*(?:builtins\.(?:AssertionError|assert\w*)|(?:unittest\.)?TestCase\.(?:assert\w+|fail|run)"
            r"|_?pytest(?:\.\w+)*\.(?:raises|fail|approx|main|pytest_\w+|assertion\w*|reports\w*"
            r"|outcome|passed|failed))\s*=[^=]",
            re.MULTILINE,
        ),
        "replaces what tests assert with",
    ),
    (
        re.compile(
            r"(?:sys\._getframe|inspect\.(?:stack|currentframe))[^\n]*\n?(?:[^\n]*\n){0,4}?[^\n]*"
            r"(?:f_locals|f_globals)[^\n]*(?:expect|answer|want)"
        ),
        "reads the expected value out of its caller",
    ),
)  # fmt: skip
_SETTINGS = re.compile(
    r"^[ \t]*addopts[ \t]*=(?:[^\n]|\n[ \t]+)*?(?:--ignore|--deselect|--co\b|--collect-only"
    r"|--noconftest|(?<!\w)-p[ =]?(?!no:cacheprovider)\w|(?<!\w)-k[ =]|(?<!\w)-m[ =]['\"]?not\b"
    r"|--exitfirst=|--continue-on-collection-errors)",
    re.MULTILINE,
)  # fmt: skip
_HOOKED_SETTINGS = re.compile(
    r"^[ \t]*(?:collect_ignore(?:_glob)?"
    r"|python_(?:files|classes|functions)[ \t]*=[ \t]*['\"]?\[?['\"]?"
    r"(?!\*?test|Test|check|example))",
    re.MULTILINE,
)


def trick_in(content: str) -> str | None:
    """What a source file does to its tests, or ``None``."""
    content = content[:_MAX_TEXT]
    if _HINT.search(content) is None:
        return None
    for pattern, meaning in _TRICKS:
        if pattern.search(content) and not ("_exit" in pattern.pattern and "fork" in content):
            return meaning
    return None


def unpicks_tests(settings: str) -> bool:
    """Whether a test runner's settings leave tests out or load something of their own."""
    settings = settings[:_MAX_TEXT]
    return bool(_SETTINGS.search(settings) or _HOOKED_SETTINGS.search(settings))
