"""The guard contract catches rules that break it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from harness_adapters import Finding, GuardRule, Ledger, Severity, ToolCall
from harness_adapters.testing import HONEST_SESSIONS, Case, GuardRuleContract

EVIL = Case("bash", {"command": "sudo ls"})


class Contract(GuardRuleContract):
    name = "mine"
    blocked = (EVIL,)
    allowed = (Case("bash", {"command": "ls"}),)


@contextmanager
def breach(reason: str) -> Iterator[None]:
    with pytest.raises((AssertionError, pytest.fail.Exception), match=reason):
        yield


def found(rule: str = "mine.sudo", *, message: str = "sudo", span: object = None) -> Finding:
    return Finding(rule=rule, severity=Severity.BLOCK, message=message, span=span)  # type: ignore[arg-type]


class Good:
    def judge(self, call: ToolCall, ledger: Ledger) -> Finding | None:
        return found() if "sudo" in call.raw else None


class Nothing:
    def judge(self, call: ToolCall, ledger: Ledger) -> Finding | None:
        return None


class Everything:
    def judge(self, call: ToolCall, ledger: Ledger) -> Finding | None:
        return found()


class Counting:
    def __init__(self) -> None:
        self.seen = 0

    def judge(self, call: ToolCall, ledger: Ledger) -> Finding | None:
        self.seen += 1
        return found() if self.seen > 30 else None


class Writing:
    def judge(self, call: ToolCall, ledger: Ledger) -> Finding | None:
        ledger.hosts[call.name] = "user"
        return None


class Raising:
    def judge(self, call: ToolCall, ledger: Ledger) -> Finding | None:
        assert call.arguments is not None
        return None


class Unpicklable:
    def __init__(self) -> None:
        self.key = lambda word: word

    def judge(self, call: ToolCall, ledger: Ledger) -> Finding | None:
        return None


class Slow:
    def judge(self, call: ToolCall, ledger: Ledger) -> Finding | None:
        for start in range(0, len(call.raw), 200):
            call.raw[start:].count("zz")
        return None


class Formless:
    def __init__(self, finding: Finding) -> None:
        self.finding = finding

    def judge(self, call: ToolCall, ledger: Ledger) -> Finding | None:
        return self.finding


def test_a_good_rule_keeps_it() -> None:
    kit, rule = Contract(), Good()
    kit.test_it_blocks_what_it_is_for(rule)
    kit.test_it_lets_its_own_examples_pass(rule)
    kit.test_it_is_pure(rule)
    kit.test_its_work_is_bounded_by_the_call(rule)


def test_a_rule_that_misses_its_purpose() -> None:
    with breach("let through"):
        Contract().test_it_blocks_what_it_is_for(Nothing())


def test_a_rule_that_blocks_honest_work() -> None:
    with breach("mine.sudo"):
        Contract().test_it_lets_its_own_examples_pass(Everything())
    with breach("mine.sudo"):
        Contract().test_it_lets_honest_work_pass(Everything(), HONEST_SESSIONS[0])


def test_a_rule_that_remembers() -> None:
    with breach("nothing but call and ledger|Case"):
        Contract().test_it_is_pure(Counting())


def test_a_rule_that_writes_into_the_ledger() -> None:
    with breach("changed the ledger"):
        Contract().test_it_is_pure(Writing())


def test_a_rule_that_raises_on_malformed_arguments() -> None:
    with pytest.raises(AssertionError):
        Contract().test_it_never_raises(Raising())


def test_a_rule_that_cannot_be_pickled() -> None:
    with breach("cannot be sent"):
        Contract().test_it_works_in_a_fresh_process(Unpicklable())


@pytest.mark.parametrize(
    "finding",
    [found("other.sudo"), found(message=""), found(message="two\nlines"), found(span=(0, 10_000))],
    ids=["another's id", "no message", "two lines", "a span beyond the call"],
)
def test_a_finding_that_the_log_cannot_use(finding: Finding) -> None:
    with pytest.raises(AssertionError):
        Contract().test_it_blocks_what_it_is_for(Formless(finding))


def test_quadratic_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness_adapters.testing.guard._SLOW_SECONDS", 0.2)
    rule: GuardRule = Slow()
    with pytest.raises(AssertionError):
        Contract().test_its_work_is_bounded_by_the_call(rule)
