"""Policies and calls for the rules' tests."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from harness_adapters import Finding, GuardRule, Ledger, TaskPolicy, ToolCall

_TESTS = ("tests/**", "**/tests/**", "**/test_*.py", "**/*_test.py")
_POLICIES = {
    "repair": TaskPolicy(workdir="/work", protected=_TESTS),
    "qa": TaskPolicy(workdir="/work", protected=("data/**",)),
    "build": TaskPolicy(workdir="/work", editable=("**",)),
    "daily": TaskPolicy(workdir="/work"),
}

Judge = Callable[..., Finding | None]


@pytest.fixture
def judge() -> Judge:
    """``judge(rule, kind, name, arguments, *earlier calls, tools=..., user=..., policy=...,
    results=...)``; results are what the earlier calls gave."""

    def _judge(
        rule: GuardRule,
        kind: str,
        name: str,
        arguments: dict[str, Any] | str,
        *earlier: tuple[str, dict[str, Any] | str],
        tools: tuple[str, ...] | None = None,
        user: str = "",
        policy: TaskPolicy | None = None,
        results: tuple[str, ...] = (),
    ) -> Finding | None:
        ledger = Ledger(policy or _POLICIES[kind])
        ledger.see_request(
            tools=None if tools is None else {tool: {} for tool in tools},
            new_messages=[{"role": "user", "content": user}] if user else [],
        )

        def call(name: str, arguments: dict[str, Any] | str) -> ToolCall:
            raw = arguments if isinstance(arguments, str) else json.dumps(arguments)
            return ToolCall(id="c1", name=name, raw=raw, ledger=ledger)

        for i, before in enumerate(earlier):
            ledger.commit(call(*before))
            if i < len(results):
                said = {"role": "tool", "tool_call_id": "c1", "content": results[i]}
                ledger.see_request(tools=ledger.declared_tools, new_messages=[said])
        return rule.judge(call(name, arguments), ledger)

    return _judge
