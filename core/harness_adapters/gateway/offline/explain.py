"""All that the guard knows about one call, as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from harness_adapters.gateway.guard.calls import ToolCall
from harness_adapters.gateway.guard.errors import Unjudgeable
from harness_adapters.gateway.guard.judge import Guard, Judgement
from harness_adapters.gateway.guard.ledger import Ledger

_LONGEST = 300


def verdict(call: ToolCall, judgement: Judgement, guard: Guard) -> dict[str, Any]:
    """``{"decision","findings":[{rule,severity,message,span,text}],"faults","infra","policy"}``."""
    return {
        "decision": judgement.decision.value,
        "findings": [
            {
                "rule": one.rule,
                "severity": one.severity.value,
                "message": one.message,
                "span": one.span,
                "text": call.raw[slice(*one.span)] if one.span else "",
            }
            for one in judgement.findings
        ],
        "faults": list(judgement.faults),
        "infra": judgement.infra,
        "policy": guard.policy_hash,
    }


def explanation(
    call: ToolCall, judgement: Judgement, guard: Guard, ledger: Ledger
) -> dict[str, Any]:
    """The verdict, and what it rests on: ``{..., "tool","arguments","strict","actions","ledger",
    "task_policy","rules"}``. Long texts are cut."""
    try:
        actions = [
            {
                "action": type(action).__name__,
                **_short(asdict(action)),
                "text": call.raw[slice(*action.span)][:_LONGEST],
            }
            for action in call.actions
        ]
    except Unjudgeable as error:
        actions = [{"action": "unjudgeable", "text": str(error)}]
    facts = {name: value for name, value in vars(ledger).items() if not name.startswith("_")}
    policy = facts.pop("policy", ledger.policy)
    return {
        **verdict(call, judgement, guard),
        "tool": call.name,
        "arguments": call.raw,
        "strict": call.arguments is not None,
        "actions": actions,
        "ledger": {name: _plain(value) for name, value in facts.items()},
        "task_policy": asdict(policy),
        "rules": [
            {"name": one.name, "distribution": one.distribution, "version": one.version}
            for one in guard.rules
        ],
    }


def _plain(value: Any) -> Any:
    """A fact of the ledger as JSON; of declared tools and the like the names are enough."""
    if isinstance(value, Mapping):
        return {str(key): _cut(value[key]) for key in value}
    if isinstance(value, (set, frozenset)):
        return sorted(map(str, value))
    return _cut(value)


def _short(fields: dict[str, Any]) -> dict[str, Any]:
    return {
        name: _cut(value) if isinstance(value, str) else value for name, value in fields.items()
    }


def _cut(value: Any) -> Any:
    if value is None or isinstance(value, (int, float, bool)):
        return value
    text = str(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}... {len(text)} characters"
