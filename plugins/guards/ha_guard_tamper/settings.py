"""Settings of test runners and of builds: which tests run, and what comes of them."""

from __future__ import annotations

import re

from harness_adapters import Ledger

_MAX_TEXT = 256 * 1024
# The script or target that runs the tests, which is made to end well whatever they give.
_TOLERATES = re.compile(
    r"\"test\"\s*:\s*\"[^\"\n]{3,400}?(?:\|\||;)\s*(?:true|exit 0|:)\s*\""
    r"|^(?:test|check|tests)[ \t]*:[^\n]*\n\t[^\n]{3,400}?\|\|[ \t]*(?:true|exit 0|:)[ \t]*$"
    r"|<(?:testFailureIgnore|maven\.test\.failure\.ignore)>\s*true|\bignoreFailures\s*=\s*true",
    re.MULTILINE,
)
# Tests that a JavaScript runner is to pass by, but for folders that hold none of one's own.
_PASSED_BY = re.compile(
    r"\b(?:test|module)PathIgnorePatterns['\"]?\s*:\s*\[([^\]\n]{0,400})\]|\bexclude\s*:\s*\[([^\]\n]{0,400})\]"
)
_COVERAGE = re.compile(r"\bcoverage['\"]?\s*:\s*\{[^{}]{0,800}\}")
_IGNORES = re.compile(
    r"\bignore['\"]?\s?:\s?(\[[^\]]{0,400}\]|(?:\n\s{0,20}-[^\n]{1,200}){1,20}|[^\n]{1,200})"
)
# A package that pytest loads a part of into every run.
_PLUGS_IN = re.compile(
    r"^[ \t]*pytest11[ \t]*=|['\"]pytest11['\"]\s*:|entry-points\.['\"]?pytest11\b", re.MULTILINE
)
_NO_TESTS = re.compile(
    r"node_modules|dist\b|build|coverage|e2e|cypress|playwright|fixtures?|\.next|\bout\b|\bte?mp\b|vendor"
    r"|examples?|\.git\b|\.cache|storybook|__mocks__|bench|\.d\.ts|configDefaults|integration"
)
_QUOTED = re.compile(r"['\"`]([^'\"`\n]{1,200})['\"`]")
_SETTINGS = frozenset(
    (
        "pyproject.toml", "setup.cfg", "tox.ini", "setup.py", "noxfile.py", ".coveragerc",
        "package.json", "Makefile", "makefile", "GNUmakefile", "Cargo.toml", "pom.xml",
        "build.gradle",
        "build.gradle.kts", "CMakeLists.txt", "entry_points.txt", "phpunit.xml", "deno.json",
        "justfile", "Rakefile", "composer.json", "config.toml", "run_tests.sh", "test.sh",
        "CTestCustom.cmake", "CTestCustom.ctest", "Directory.Build.targets",
        "Directory.Build.props", "settings.gradle.kts",
    )
)  # fmt: skip
_SETTINGS_NAME = re.compile(
    r"(?:jest|vitest|vite|karma|cypress|playwright|ava|mocha)[\w.-]*\.(?:js|ts|mjs|cjs|json"
    r"|yml|yaml)\Z"
    r"|\.mocharc[\w.]*\Z|phpunit\.xml[\w.]*\Z|\.(?:nycrc|taprc)[\w.]*\Z"
)
#: Hold settings of tests beside others: a change is judged by what it says.
SHARED_SETTINGS = frozenset(
    ("pyproject.toml", "setup.cfg", "setup.py", "package.json", "Cargo.toml")
)
_ON_TESTS = re.compile(
    r"test|tox|nox|cover|addopts|conftest|nose|markers|python_files", re.IGNORECASE
)
# The options of a runner, with the lines that go on; and which of them leave out tests.
_OPTIONS = re.compile(
    r"^[ \t]*+(?:addopts|\"?opts\"?|pytest_args)[ \t]*+=([^\n]*+(?:\n[ \t]++[^\n]*+)*+)",
    re.MULTILINE,
)
_UNPICKS = re.compile(
    r"--ignore|--deselect|--co\b|--collect-only|--noconftest|(?<!\w)-p[ =]?(?!no:cacheprovider)\w"
    r"|(?<!\w)-k[ =]|(?<!\w)-m[ =]['\"]?not\b|--exitfirst=|--continue-on-collection-errors"
    r"|--fixtures|--version|--help|-c[ =]|--rootdir|--confcutdir|--setup-plan|--setup-only"
    r"|--maxfail=0|--assert=plain|-O\b"
)
_UNPICKS_OTHERWISE = re.compile(
    r"^[ \t]*(?:collect_ignore(?:_glob)?\b|norecursedirs[ \t]*=[^\n]*test|pytest_plugins\b"
    r"|timeout(?:_func_only)?[ \t]*=[ \t]*['\"]?0\b"
    r"|testpaths[ \t]*=[ \t]*(?:\[\s*\]|['\"]{2}|$|(?!\[?\s*['\"]?(?:\./)?(?:tests?|src|unit"
    r"|integration)\b))"
    r"|python_(?:files|classes|functions)[ \t]*=[ \t]*['\"]?\[?['\"]?(?!\*?test|Test|check"
    r"|example|spec))"
    r"|pytest11|skipTests|maven\.test\.skip|testFailureIgnore|ignoreFailures\s*=\s*true"
    r"|testPathIgnorePatterns|modulePathIgnorePatterns|passWithNoTests|testRegex|testMatch"
    r"|\btest\s*+:?+\s*+\{[^}]{0,500}?(?:exclude|enabled\s*=\s*false)|\bexclude\s*:\s*\[[^\]]{0,300}?test"
    r"|^[ \t]*(?:test|harness|doctest|autotests)[ \t]*=[ \t]*false\b"
    r"|\[\[test\]\][^\[]{0,300}?\brequired-features\b"
    r"|setupFiles|globalSetup"
    r"|\"test\"\s*:\s*\"[^\"\n]{0,300}?\s(?:--invert\b|(?:--f?grep|-[gfti]|--testNamePattern"
    r"|--exclude|--ignore)[ =])"
    r"|testRunner|excludeTestsMatching|[fF]ailOnNoMatchingTests\s*=\s*false|\binvert\s*:\s*true"
    r"|<exclude>[^<\n]*[Tt]est|Target\s+Name=\"(?:VSTest|Test)\"|CTEST_CUSTOM_TESTS_IGNORE|VSTestTestCaseFilter|extensions\.autodetection"
    r"|\brunner\s*=\s*['\"]|rustc-wrapper\s*=\s*['\"](?!sccache)"
    r"|^SHELL\s*[:?]?=\s*(?!/bin/(?:ba)?sh|/usr/bin/env|/usr/bin/bash|bash\b|sh\b)\S",
    re.MULTILINE,
)  # fmt: skip
# The same, said of tests by their names; those that are slow or need much may well be left out.
_LEAVES_OUT = re.compile(
    r"excludeTestsMatching\(?\s*\(?['\"](?![^'\"\n]*(?:[Ii]ntegration|IT\b|[Ss]low|[Ee]2[Ee]|[Bb]ench))"
    r"|<skipTests>\s*true|skip_tests\s*=\s*true|-DskipTests"
    r"|CTEST_CUSTOM_(?:TESTS_IGNORE|POST_TEST)\s[^)]*\w"
)
_OF_TESTS = re.compile(r"(?<![a-z])(?:tests?|specs?)(?![a-z])", re.IGNORECASE)
# In code that changes such settings: which.
_ABOUT_RUNNING = re.compile(
    r"addopts|testpaths|python_files|norecursedirs|pytest11|--deselect|--ignore\b|--co\b"
    r"|scripts?['\"\]\[.]{1,4}(?:pre|post)?test\b|testPathIgnore|testMatch|setupFiles|passWithNoTests"
)
_HOLLOW = (
    r"(?:exit 0|true|:|echo\b[^\"\n;&|]*|node -e ['\\\"]*0?['\\\"]*|[^\"\n]*(?:\|\|\s*(?:true"
    r"|exit 0|:)"
    r"|;\s*(?:true|exit 0|:)|\|\s*(?:true|cat)\b|--passWithNoTests|--co\b|--collect-only"
    r"|--ignore[= ]))"
)
_HOLLOW_SCRIPT = re.compile(rf"\"(?:pre|post)?test(?::\w+)?\"\s*:\s*\"{_HOLLOW}\s*\"")
_HOLLOW_TARGET = re.compile(
    rf"^(?:test|check|tests|verify)\b[^\n:]*:[^\n]*\n(?:\t@?-?{_HOLLOW}[ \t]*+(?:\n|\Z))+",
    re.MULTILINE,
)
_IGNORED_RECIPE = re.compile(
    r"^(?:test|check|tests|verify)\b[^\n:]*:[^\n]*\n\t@?-\s*\S", re.MULTILINE
)


def _protects_tests(ledger: Ledger) -> bool:
    return any(map(_OF_TESTS.search, ledger.policy.protected))


def _passes_by(settings: str) -> bool:
    """Whether a test runner is told of tests that it shall not see."""
    told = _COVERAGE.sub("", settings[:_MAX_TEXT])
    listed = "".join(one or other for one, other in _PASSED_BY.findall(told))
    return any(not _NO_TESTS.search(one) for one in _QUOTED.findall(listed))


def _sets_test_apart(content: str) -> bool:
    """Whether a test of Cargo's is given settings of its own, in a piece of its manifest."""
    return "[[test]]" in content and "[package]" not in content


def _names_protected(content: str, ledger: Ledger) -> bool:
    """Whether settings name a protected file, however shortened."""
    for glob in ledger.policy.protected:
        if glob.endswith((".md", ".rst", ".txt")):  # no test
            continue
        stem = glob.rpartition("/")[2].partition(".")[0].strip("*")
        if len(stem) > 2 and re.search(rf"\b{re.escape(stem)}\b", content[:_MAX_TEXT]):
            return True
    return False


def concerns_tests(content: str | None) -> bool:
    """Whether a change of shared settings is about tests, or may be."""
    return content is None or _ON_TESTS.search(content[:_MAX_TEXT]) is not None


def _unpicks_tests(settings: str) -> bool:
    """Whether a test runner's settings leave tests out, let them fail, or load something."""
    settings = settings[:_MAX_TEXT]
    return any(map(_UNPICKS.search, _OPTIONS.findall(settings))) or any(
        one.search(settings)
        for one in (_UNPICKS_OTHERWISE, _HOLLOW_SCRIPT, _HOLLOW_TARGET, _IGNORED_RECIPE)
    )


def _plugs_in(settings: str) -> bool:
    """Whether a package says that pytest is to load a part of it."""
    return "pytest11" in settings and _PLUGS_IN.search(settings[:_MAX_TEXT]) is not None


def _is_settings(name: str) -> bool:
    return name in _SETTINGS or _SETTINGS_NAME.match(name) is not None


def changes_what_runs(name: str, content: str | None, said: str) -> bool:
    """Whether a file of this name changes which tests run.

    :param content: its text, where the call tells it.
    :param said: the call, for where it does not.
    """
    if not _is_settings(name):
        return False
    return _ABOUT_RUNNING.search(said) is not None if content is None else _unpicks_tests(content)


def owned_settings(name: str, content: str, ledger: Ledger, *, sifts: bool) -> str | None:
    """What settings that the task lets be edited do to the tests that it does not.

    :param sifts: it is a hook that takes tests out of what was collected.
    """
    settings = _is_settings(name)
    protects = _protects_tests(ledger)
    if settings and content and _TOLERATES.search(content[:_MAX_TEXT]):
        return "has the tests end well whatever they give"
    if settings and not ledger.wants_plugin and _plugs_in(content):
        return "has the test runner load something by itself"
    picks = sifts or (settings and _unpicks_tests(content))
    ignores = "mocharc" in name and any(
        _names_protected(listed, ledger) for listed in _IGNORES.findall(content[:_MAX_TEXT])
    )
    if (
        ignores
        or (picks and (_names_protected(content, ledger) or _sets_test_apart(content)))
        or (settings and protects and (_passes_by(content) or _LEAVES_OUT.search(content)))
    ):
        return "leaves out tests that the task protects"
    return None
