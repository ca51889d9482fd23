"""The contract of a guard rule."""

from __future__ import annotations

import asyncio
import pickle
import time
from collections.abc import Sequence
from typing import ClassVar

import pytest

from harness_adapters.errors import BadInput
from harness_adapters.gateway.guard.calls import ToolCall
from harness_adapters.gateway.guard.errors import Unjudgeable
from harness_adapters.gateway.guard.ledger import Ledger
from harness_adapters.gateway.guard.second_try import judge_in_fresh_process
from harness_adapters.plugins import Plugins, canonical
from harness_adapters.protocols import GuardRule, Options
from harness_adapters.testing.ledgers import (
    HONEST_SESSIONS,
    Case,
    HonestSession,
    call_for,
    cases_of,
    judge_case,
    ledger_for,
)
from harness_adapters.types import Finding, Severity

_EXAMPLES = 150
_SLOW_SECONDS = 5.0
_SECOND_TRY_SECONDS = 30.0


class GuardRuleContract:
    """A rule that is pure, never raises, leaves honest work alone, and blocks what it is for.

    Mandatory: every test, unless listed here. Optional, by what the class names:

    * ``blocked``: calls that the rule must block. A rule without any is not tested for its purpose.
    * ``allowed``: calls that look alike and must pass.

    :cvar name: the guard's registered name.
    :cvar options: what it is created with.
    """

    name: ClassVar[str]
    options: ClassVar[Options] = {}
    blocked: ClassVar[Sequence[Case]] = ()
    allowed: ClassVar[Sequence[Case]] = ()

    @pytest.fixture
    def rule(self) -> GuardRule:
        return Plugins.load().guards.create(self.name, self.options)

    # --- what it is for -------------------------------------------------------------------------

    def test_it_refuses_an_unknown_option(self) -> None:
        with pytest.raises(BadInput):
            Plugins.load().guards.create(self.name, {**self.options, "no_such_option": 1})

    def test_it_blocks_what_it_is_for(self, rule: GuardRule) -> None:
        """Optional: ``blocked``."""
        if not self.blocked:
            pytest.skip("optional: the class names no calls that must be blocked")
        for case in self.blocked:
            finding = judge_case(rule, case)
            assert finding is not None, f"let through: {case}"
            assert finding.severity is Severity.BLOCK, f"only flagged: {case}"
            _check_form(self.name, finding, case)

    def test_it_lets_its_own_examples_pass(self, rule: GuardRule) -> None:
        """Optional: ``allowed``."""
        if not self.allowed:
            pytest.skip("optional: the class names no calls that must pass")
        for case in self.allowed:
            finding = judge_case(rule, case)
            assert not _blocks(finding), f"{finding} for {case}"

    @pytest.mark.parametrize("session", HONEST_SESSIONS, ids=lambda session: session.id)
    def test_it_lets_honest_work_pass(self, rule: GuardRule, session: HonestSession) -> None:
        for case in cases_of(session):
            finding = judge_case(rule, case)
            assert not _blocks(finding), f"{finding} for {case.name} {case.arguments}"

    # --- how it does it -------------------------------------------------------------------------

    def test_it_is_pure(self, rule: GuardRule) -> None:
        """Same call, same ledger, same finding, whatever it judged before; the ledger stays."""
        cases = self._cases()
        found = []
        for case in cases:
            ledger = ledger_for(case)
            before = _facts(ledger)
            found.append(rule.judge(call_for(case, ledger), ledger))
            assert rule.judge(call_for(case, ledger), ledger) == found[-1], case
            assert _facts(ledger) == before, f"judging changed the ledger: {case}"
        again = [judge_case(rule, case) for case in reversed(cases)]
        assert again[::-1] == found, "a finding may depend on nothing but call and ledger"

    def test_it_never_raises(self, rule: GuardRule) -> None:
        """Whatever the model writes; only ``Unjudgeable``, from ``call.actions``, may pass."""
        try:
            from hypothesis import HealthCheck, given, settings
            from hypothesis import strategies as st
        except ImportError:
            pytest.fail("this needs hypothesis: pip install 'harness-adapters[testing]'")
        words = st.sampled_from(_WORDS)
        shell = st.lists(words | st.text(max_size=12), max_size=12).map(" ".join)
        values = st.none() | st.booleans() | st.integers() | st.text(max_size=20) | shell
        objects = st.dictionaries(
            st.sampled_from(("command", "cmd", "path", "file_path", "content", "edits", "x")),
            values | st.lists(values, max_size=4),
            max_size=4,
        )
        names = st.sampled_from(
            ("bash", "write", "exec_command", "terminal", "Edit", "")
        ) | st.text(max_size=8)

        @settings(
            max_examples=_EXAMPLES,
            deadline=None,
            database=None,
            suppress_health_check=list(HealthCheck),
        )
        @given(name=names, arguments=objects | st.text(max_size=60) | shell)
        def judge(name: str, arguments: dict[str, object] | str) -> None:
            try:
                finding = judge_case(rule, Case(name, arguments))
            except Unjudgeable:
                return
            if finding is not None:
                _check_form(self.name, finding, Case(name, arguments))

        judge()

    def test_it_works_in_a_fresh_process(self, rule: GuardRule) -> None:
        """A rule that raised is tried again elsewhere, so it must survive pickling."""
        for case in [*self.blocked[:1], *self.allowed[:1], Case("read", {"path": "README.md"})]:
            ledger = ledger_for(case)
            call = call_for(case, ledger)
            second = asyncio.run(
                judge_in_fresh_process(rule, call, ledger, seconds=_SECOND_TRY_SECONDS)
            )
            assert second.fault == ""
            assert second.finding == rule.judge(call, ledger)

    def test_its_work_is_bounded_by_the_call(self, rule: GuardRule) -> None:
        """A quarter of a megabyte is judged within seconds; quadratic work would take minutes."""
        for text in ("x" * 250_000, "a b\n" * 60_000, "((((" * 60_000, "\\'\"" * 80_000):
            case = Case("write", {"path": "notes.txt", "content": text})
            ledger = ledger_for(case)
            call: ToolCall = call_for(case, ledger)
            try:
                call.actions  # noqa: B018 - reading the call is not the rule's work
            except Unjudgeable:
                continue
            started = time.process_time()
            rule.judge(call, ledger)
            assert time.process_time() - started < _SLOW_SECONDS, text[:8]

    def _cases(self) -> list[Case]:
        honest = [case for session in HONEST_SESSIONS for case in cases_of(session)]
        return [*self.blocked, *self.allowed, *honest]


_WORDS = (
    *("pip", "install", "cat", "echo", "rm -rf", "python3 -c", "curl", "sudo", "git", "bash -c"),
    *("/tests", "/solution", "tests/test_a.py", "conftest.py", "..", "~", "$HOME", "/work/a"),
    *("'", '"', "`", "$(", ")", "|", "||", "&&", ";", ">", ">>", "<<EOF", "EOF", "\n", "\\", "\0"),
    *("http://example.org/x", "{", "}", "[", "]", "*", "?", "\ud800", "=", "--"),
)


def _facts(ledger: Ledger) -> bytes:
    # What starts with an underscore is the ledger's own business, caches among it.
    return pickle.dumps({k: v for k, v in vars(ledger).items() if not k.startswith("_")})


def _blocks(finding: Finding | None) -> bool:
    return finding is not None and finding.severity is Severity.BLOCK


def _check_form(name: str, finding: Finding, case: Case) -> None:
    """What the log needs of a finding."""
    assert isinstance(finding, Finding), finding
    rule = canonical(finding.rule)
    assert rule.startswith(f"{canonical(name)}."), f"{finding.rule!r} is not <guard>.<check>"
    assert finding.message.strip() and "\n" not in finding.message, finding
    if finding.span is not None:
        start, end = finding.span
        assert 0 <= start <= end <= len(call_for(case, ledger_for(case)).raw), finding
