"""All rules over one call, and what becomes of it."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from harness_adapters.gateway.guard.calls import ToolCall
from harness_adapters.gateway.guard.errors import Unjudgeable
from harness_adapters.gateway.guard.ledger import Ledger
from harness_adapters.gateway.guard.second_try import SecondTry, judge_in_fresh_process
from harness_adapters.gateway.guard.shell import load_grammar
from harness_adapters.gateway.guard.watch import Overrun, watched
from harness_adapters.gateway.transcript import Decision
from harness_adapters.protocols import GuardRule
from harness_adapters.types import Finding, Severity

_PROBE_NAME, _PROBE_ARGUMENTS = "read", '{"path": "README.md"}'
_SECOND_TRIES = 2  # processes at a time
UNJUDGEABLE_RULE = "guard.unjudgeable"


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedRule:
    """A rule with where it came from.

    :param options: what it was made with; part of the policy hash.
    """

    name: str
    rule: GuardRule
    distribution: str = ""
    version: str = ""
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """What the guard decided about one call.

    :param faults: one line per rule that raised, naming rule and distribution.
    :param infra: the call is blocked only since a rule is broken, as a benign probe showed too.
    """

    decision: Decision
    findings: tuple[Finding, ...] = ()
    faults: tuple[str, ...] = ()
    infra: bool = False


class Guard:
    """The rules of a run. Judging has no state: same call, same ledger, same judgement.

    :param rules: any order; they are asked by name. None at all: the guards are off.
    :param second_try_seconds: how long a rule that raised may take in a fresh process.
    """

    def __init__(self, rules: Sequence[LoadedRule], *, second_try_seconds: float = 30.0) -> None:
        self.rules = tuple(sorted(rules, key=lambda one: (one.name, one.distribution)))
        self._seconds = second_try_seconds
        self._hash = _policy_hash(self.rules)
        self._held_back: set[str] = set()
        self._second_tries = asyncio.Semaphore(_SECOND_TRIES)
        if self.rules:
            load_grammar()  # or the first call judged pays for it

    @property
    def policy_hash(self) -> str:
        """Over names, distributions, versions and options of all rules; 16 hex digits."""
        return self._hash

    async def judge(self, call: ToolCall, ledger: Ledger) -> Judgement:
        """Ask every rule. A block by any rule blocks; flags alone flag.

        A rule that raises or does not end is asked again in a fresh process. If it fails there
        too, a benign
        probe tells whether the call is to blame (``UNJUDGEABLE``) or the rule (``infra``); the
        call is blocked either way.
        """
        if not self.rules:
            return Judgement(decision=Decision.ALLOW)
        findings: list[Finding] = []
        faults: list[str] = []
        unjudgeable = ""
        infra = False
        if reason := call.beyond_limits:
            return _unjudgeable(reason)
        for loaded in self.rules:
            try:
                finding = self._asked(loaded, call, ledger)
            except Unjudgeable as error:
                unjudgeable = unjudgeable or str(error)
                continue
            except (Exception, SystemExit, Overrun) as error:  # foreign code: all is a fault
                faults.append(_fault(loaded, f"{type(error).__name__}: {error}"))
                finding, to_blame = await self._again(loaded, call, ledger, faults)
                if to_blame == "call":
                    unjudgeable = unjudgeable or f"rule {loaded.name} cannot judge this call"
                infra = infra or to_blame == "rule"
            if finding is not None:
                findings.append(finding)
        return _concluded(tuple(findings), tuple(faults), unjudgeable, infra)

    def _asked(self, loaded: LoadedRule, call: ToolCall, ledger: Ledger) -> Finding | None:
        """:raises Overrun: it did not come to an end, now or before: one that once held up all
        sessions is from then on asked in a fresh process only.
        """
        if loaded.name in self._held_back:
            raise Overrun("held back, since it did not come to an end before")
        try:
            return _checked(watched(loaded.rule.judge, call, ledger))
        except Overrun:
            self._held_back.add(loaded.name)
            raise

    async def _again(
        self, loaded: LoadedRule, call: ToolCall, ledger: Ledger, faults: list[str]
    ) -> tuple[Finding | None, str]:
        """The finding of a second try, and who is to blame that there is none: ``call``,
        ``rule``, or nobody."""
        second = await self._second_try(loaded.rule, call, ledger)
        if not second.fault:
            return second.finding, ""
        faults.append(_fault(loaded, f"again in a fresh process: {second.fault}"))
        probe = ToolCall(id="probe", name=_PROBE_NAME, raw=_PROBE_ARGUMENTS, ledger=ledger)
        benign = await self._second_try(loaded.rule, probe, ledger)
        if not benign.fault:
            return None, "call"
        faults.append(_fault(loaded, f"on a benign probe too: {benign.fault}"))
        return None, "rule"

    async def _second_try(self, rule: GuardRule, call: ToolCall, ledger: Ledger) -> SecondTry:
        async with self._second_tries:  # a rule that faults at every call starts no swarm
            return await judge_in_fresh_process(rule, call, ledger, seconds=self._seconds)


def _checked(finding: object) -> Finding | None:
    if finding is None or isinstance(finding, Finding):
        return finding
    raise TypeError(f"judge() returned {type(finding).__name__}, not a Finding or None")


def _concluded(
    findings: tuple[Finding, ...], faults: tuple[str, ...], unjudgeable: str, infra: bool
) -> Judgement:
    if any(finding.severity is Severity.BLOCK for finding in findings):
        return Judgement(decision=Decision.BLOCK, findings=findings, faults=faults)
    if infra:
        return Judgement(decision=Decision.BLOCK, findings=findings, faults=faults, infra=True)
    if unjudgeable:
        return _unjudgeable(unjudgeable, findings, faults)
    decision = Decision.FLAG if findings else Decision.ALLOW
    return Judgement(decision=decision, findings=findings, faults=faults)


def _unjudgeable(
    reason: str, findings: tuple[Finding, ...] = (), faults: tuple[str, ...] = ()
) -> Judgement:
    own = Finding(rule=UNJUDGEABLE_RULE, severity=Severity.BLOCK, message=reason)
    return Judgement(decision=Decision.UNJUDGEABLE, findings=(*findings, own), faults=faults)


def _fault(loaded: LoadedRule, what: str) -> str:
    source = f" ({loaded.distribution} {loaded.version})" if loaded.distribution else ""
    line = " ".join(what.split())
    return f"guard rule {loaded.name}{source}: {line[:500]}"


def _policy_hash(rules: Sequence[LoadedRule]) -> str:
    described = [
        [
            one.name,
            one.distribution,
            one.version,
            json.dumps(dict(one.options), sort_keys=True, default=str),
        ]
        for one in rules
    ]
    return hashlib.sha256(json.dumps(described).encode()).hexdigest()[:16]
