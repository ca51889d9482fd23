"""Same call, same ledger, same verdict, in whatever order calls and rules come."""

from __future__ import annotations

import asyncio
import json
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness_adapters import Ledger, Plugins, TaskPolicy, ToolCall
from harness_adapters.gateway.guard.judge import Guard, LoadedRule
from harness_adapters.parts import make_guard

ORDERS = 10_000
CALLS: list[tuple[str, dict[str, Any]]] = [
    ("bash", {"command": "pytest -q 2>&1 | tail -5"}),
    ("bash", {"command": "rm tests/test_a.py"}),
    ("bash", {"command": "cat /tests/test.sh"}),
    ("bash", {"command": "curl https://a.example.net"}),
    ("read", {"path": "src/a.py"}),
    ("write", {"path": "src/a.py", "content": "class A:\n    def __eq__(self, o): return True\n"}),
    ("edit", {"path": "src/a.py", "oldText": "a", "newText": "b"}),
    ("nosuch", {"x": 1}),
]


@pytest.fixture(scope="module")
def rules() -> tuple[LoadedRule, ...]:
    return make_guard(Plugins.load()).rules


def test_the_order_of_calls_and_rules_changes_no_verdict(rules: tuple[LoadedRule, ...]) -> None:
    """``ORDERS`` judgements in random orders, of calls that are not let through."""
    ledger = Ledger(TaskPolicy(kind="repair", protected=("tests/**",)))
    ledger.see_request(tools={"bash": {}, "read": {}, "write": {}, "edit": {}}, new_messages=[])
    by_chance = random.Random(3)
    seen: dict[int, object] = {}

    async def judge_all() -> None:
        done = 0
        while done < ORDERS:
            guard = Guard(by_chance.sample(rules, len(rules)))
            for number in by_chance.choices(range(len(CALLS)), k=100):
                name, arguments = CALLS[number]
                raw = json.dumps(arguments)
                call = ToolCall(id="c", name=name, raw=raw, ledger=ledger)
                judgement = await guard.judge(call, ledger)
                told = (judgement.decision, judgement.findings, judgement.faults)
                assert seen.setdefault(number, told) == told
                done += 1

    asyncio.run(judge_all())
    assert len(seen) == len(CALLS)


NAMES = st.text("abc", min_size=1, max_size=3)
OPTIONS = st.dictionaries(NAMES, st.none() | st.booleans() | st.integers() | NAMES, max_size=3)


def loaded(name: str, version: str, options: dict[str, Any]) -> LoadedRule:
    return LoadedRule(
        name=name, rule=_Nothing(), distribution="d", version=version, options=options
    )


class _Nothing:
    def judge(self, call: ToolCall, ledger: Ledger) -> None:
        return None


RULES = st.lists(st.tuples(NAMES, NAMES, OPTIONS), max_size=4, unique_by=lambda one: one[0])


@given(RULES, RULES, st.randoms())
def test_the_policy_hash_tells_rules_versions_and_options_apart(
    one: list[tuple[str, str, dict[str, Any]]],
    other: list[tuple[str, str, dict[str, Any]]],
    by_chance: random.Random,
) -> None:
    shuffled = by_chance.sample(one, len(one))
    first, second = (Guard([loaded(*rule) for rule in rules]) for rules in (one, shuffled))
    assert first.policy_hash == second.policy_hash
    same = sorted(map(repr, one)) == sorted(map(repr, other))
    third = Guard([loaded(*rule) for rule in other])
    if not same and {json.dumps(r) for r in map(_plain, one)} != {
        json.dumps(r) for r in map(_plain, other)
    }:
        assert first.policy_hash != third.policy_hash


def _plain(rule: tuple[str, str, dict[str, Any]]) -> list[Any]:
    return [rule[0], rule[1], dict(sorted(rule[2].items()))]
