from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from harness_adapters import Decision, Finding, GuardRule, Ledger, Severity, TaskPolicy, ToolCall
from harness_adapters.gateway.guard import watch
from harness_adapters.gateway.guard.errors import Unjudgeable
from harness_adapters.gateway.guard.judge import Guard, LoadedRule
from harness_adapters.gateway.guard.watch import Overrun, watched

FAULTY = '''
"""Rules that fail, in a module that a fresh process can import."""
import os, time
from harness_adapters import Finding, Severity

PARENT = {pid}

class Rule:
    def __init__(self, how):
        self.how = how
    def judge(self, call, ledger):
        if self.how == "here" and os.getpid() == PARENT:
            raise RuntimeError("broken here")
        if self.how == "here":
            print("noise that is no answer")
            return Finding(rule="r.found", severity=Severity.BLOCK, message="m", span=(0, 1))
        if self.how == "loops":
            while True:
                pass
        if self.how == "grows":
            held = []
            while True:
                held.append(bytes(16 * 1024**2).replace(b"\\0", b"x"))
        if self.how == "leaves":
            raise SystemExit(3)
        if self.how == "this call" and "bad" not in call.raw:
            return None
        if os.getpid() == PARENT or self.how in ("always", "this call"):
            raise RuntimeError("broken")
        if self.how == "hangs":
            time.sleep(60)
        if self.how == "dies":
            os._exit(3)
        if self.how == "eats":
            bytearray(8 * 1024**3)
'''


@pytest.fixture
def faulty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    import importlib
    import os

    (tmp_path / "faulty_rules.py").write_text(FAULTY.format(pid=os.getpid()))
    monkeypatch.syspath_prepend(str(tmp_path))
    yield importlib.import_module("faulty_rules")
    sys.modules.pop("faulty_rules")


class Says:
    """Finds what it is told to find."""

    def __init__(self, *findings: Finding) -> None:
        self.findings = findings

    def judge(self, call: ToolCall, ledger: Ledger) -> Finding | None:
        return self.findings[0] if self.findings else None


def finding(severity: Severity, rule: str = "r.x") -> Finding:
    return Finding(rule=rule, severity=severity, message="m")


def guard(*rules: GuardRule, seconds: float = 20.0) -> Guard:
    loaded = [LoadedRule(name=f"r{i}", rule=rule) for i, rule in enumerate(rules)]
    return Guard(loaded, second_try_seconds=seconds)


@pytest.fixture
def bad_call(ledger: Ledger) -> ToolCall:
    return ToolCall(id="1", name="bash", raw='{"command": "bad"}', ledger=ledger)


@pytest.mark.parametrize(
    ("severities", "decision"),
    [
        ((), Decision.ALLOW),
        ((Severity.FLAG,), Decision.FLAG),
        ((Severity.FLAG, Severity.BLOCK), Decision.BLOCK),
        ((Severity.BLOCK, Severity.FLAG), Decision.BLOCK),
    ],
)
async def test_any_block_blocks(
    severities: tuple[Severity, ...], decision: Decision, bad_call: ToolCall, ledger: Ledger
) -> None:
    rules = [Says(), *(Says(finding(severity)) for severity in severities)]
    judgement = await guard(*rules).judge(bad_call, ledger)
    assert judgement.decision is decision
    assert len(judgement.findings) == len(severities)


async def test_no_rules_no_guard(ledger: Ledger) -> None:
    call = ToolCall(id="1", name="bash", raw="[" * 100_000, ledger=ledger)
    assert (await Guard(()).judge(call, ledger)).decision is Decision.ALLOW


async def test_findings_come_in_the_order_of_names(bad_call: ToolCall, ledger: Ledger) -> None:
    a, b = Says(finding(Severity.FLAG, "a.x")), Says(finding(Severity.BLOCK, "b.x"))
    rules = [LoadedRule(name="b", rule=b), LoadedRule(name="a", rule=a)]
    for order in (rules, rules[::-1]):
        judgement = await Guard(order).judge(bad_call, ledger)
        assert [found.rule for found in judgement.findings] == ["a.x", "b.x"]


async def test_call_beyond_the_limits_is_unjudgeable(ledger: Ledger) -> None:
    for raw in ("[" * 100_000, '{"command": "' + "a " * 50_000 + '"}'):
        call = ToolCall(id="1", name="bash", raw=raw, ledger=ledger)

        class LooksAtActions:
            def judge(self, call: ToolCall, ledger: Ledger) -> Finding | None:
                _ = call.actions
                return None

        judgement = await guard(LooksAtActions()).judge(call, ledger)
        assert judgement.decision is Decision.UNJUDGEABLE
        assert judgement.findings[-1].rule == "guard.unjudgeable"
        assert not judgement.infra


async def test_rule_that_fails_only_here_is_believed_elsewhere(
    faulty: ModuleType, bad_call: ToolCall, ledger: Ledger
) -> None:
    judgement = await guard(faulty.Rule("here")).judge(bad_call, ledger)
    assert judgement.decision is Decision.BLOCK
    assert judgement.findings == (
        Finding(rule="r.found", severity=Severity.BLOCK, message="m", span=(0, 1)),
    )
    assert len(judgement.faults) == 1 and "broken here" in judgement.faults[0]
    assert not judgement.infra


async def test_rule_that_fails_on_this_call_alone(
    faulty: ModuleType, bad_call: ToolCall, ledger: Ledger
) -> None:
    judgement = await guard(faulty.Rule("this call")).judge(bad_call, ledger)
    assert judgement.decision is Decision.UNJUDGEABLE
    assert not judgement.infra
    assert len(judgement.faults) == 2


@pytest.mark.parametrize("how", ["always", "hangs", "dies", "eats"])
async def test_rule_that_is_broken_blocks_and_is_infra(
    faulty: ModuleType, bad_call: ToolCall, ledger: Ledger, how: str
) -> None:
    seconds = 1.0 if how == "hangs" else 20.0
    judgement = await guard(faulty.Rule(how), seconds=seconds).judge(bad_call, ledger)
    assert judgement.decision is Decision.BLOCK
    assert judgement.infra
    assert "benign probe" in judgement.faults[-1]


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A rule gets a tenth of a second, and 64 MiB."""
    monkeypatch.setattr(watch, "MAX_SECONDS", 0.1)
    monkeypatch.setattr(watch, "MAX_GROWTH", 64 * 1024**2)


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("how", ["loops", "grows", "leaves"])
async def test_a_rule_that_does_not_end_is_stopped_and_named(
    faulty: ModuleType, bad_call: ToolCall, ledger: Ledger, how: str
) -> None:
    """In this very thread, so that other sessions go on; and it is not asked here again."""
    broken = LoadedRule(name="slow", rule=faulty.Rule(how), distribution="ha-slow", version="3")
    fine = LoadedRule(name="fine", rule=Says())
    guarding = Guard([broken, fine], second_try_seconds=2.0)
    good = ToolCall(id="2", name="bash", raw='{"command": "ls"}', ledger=ledger)
    for call in (bad_call, good):
        judgement = await guarding.judge(call, ledger)
        assert judgement.decision is Decision.BLOCK and judgement.infra
        assert judgement.faults[0].startswith("guard rule slow (ha-slow 3): ")
        assert "benign probe" in judgement.faults[-1]
    if how != "leaves":
        assert "held back" in judgement.faults[0]
    assert (await Guard([fine]).judge(bad_call, ledger)).decision is Decision.ALLOW


@pytest.mark.usefixtures("impatient")
def test_what_catches_everything_is_stopped_too() -> None:
    def stubborn() -> None:
        caught = 0
        while caught < 3:
            try:
                while True:
                    pass
            except BaseException:
                caught += 1

    for _ in range(2):
        with pytest.raises(Overrun, match="processor time"):
            watched(stubborn)
    assert watched(lambda: 7) == 7


async def test_a_finding_outweighs_another_rules_fault(
    faulty: ModuleType, bad_call: ToolCall, ledger: Ledger
) -> None:
    judgement = await guard(faulty.Rule("always"), Says(finding(Severity.BLOCK))).judge(
        bad_call, ledger
    )
    assert judgement.decision is Decision.BLOCK
    assert not judgement.infra
    assert judgement.faults


async def test_nonsense_from_a_rule_is_a_fault_that_names_its_distribution(
    bad_call: ToolCall, ledger: Ledger
) -> None:
    class Nonsense:
        def judge(self, call: ToolCall, ledger: Ledger) -> Finding | None:
            return "block"  # type: ignore[return-value]

    rule = LoadedRule(name="odd", rule=Nonsense(), distribution="ha-guard-odd", version="1.2")
    judgement = await Guard([rule], second_try_seconds=5).judge(bad_call, ledger)
    assert judgement.decision is Decision.BLOCK and judgement.infra
    assert judgement.faults[0].startswith("guard rule odd (ha-guard-odd 1.2): TypeError")


def test_policy_hash_changes_with_rules_versions_and_options_only() -> None:
    def make(**changes: object) -> LoadedRule:
        values: dict[str, object] = {
            "name": "a",
            "rule": Says(),
            "distribution": "d",
            "version": "1",
            "options": {"x": 1, "y": 2},
        }
        return LoadedRule(**(values | changes))  # type: ignore[arg-type]

    one = Guard([make(), make(name="b")]).policy_hash
    assert one == Guard([make(name="b"), make(options={"y": 2, "x": 1})]).policy_hash
    others = [
        Guard([make()]),
        Guard([make(), make(name="c")]),
        Guard([make(version="2"), make(name="b")]),
        Guard([make(distribution="e"), make(name="b")]),
        Guard([make(options={"x": 1}), make(name="b")]),
        Guard([]),
    ]
    assert len({one, *(other.policy_hash for other in others)}) == len(others) + 1


async def test_a_rule_may_say_that_it_cannot_judge(bad_call: ToolCall, ledger: Ledger) -> None:
    class TooMuch:
        def judge(self, call: ToolCall, ledger: Ledger) -> Finding | None:
            raise Unjudgeable("too much")

    judgement = await guard(TooMuch()).judge(bad_call, Ledger(TaskPolicy()))
    assert judgement.decision is Decision.UNJUDGEABLE
    assert judgement.faults == ()
