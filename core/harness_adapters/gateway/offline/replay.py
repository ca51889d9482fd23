"""Recorded sessions before the guard: what it would have said to each call.

Nothing is held back: the session went on as it did, so a call that would have been blocked is in
the ledger for the next one all the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from harness_adapters.gateway.guard.judge import Guard, Judgement
from harness_adapters.gateway.offline.session import OfflineSession
from harness_adapters.gateway.transcript import Decision
from harness_adapters.tasks.traces.events import Call, Message, Result, Trace
from harness_adapters.types import TaskPolicy

_SHOWN = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A call that some rule had something to say about."""

    call: Call
    judgement: Judgement

    def to_json(self) -> dict[str, Any]:
        return {
            "call": self.call.number,
            "tool": self.call.name,
            "decision": self.judgement.decision.value,
            "findings": [
                {
                    "rule": one.rule,
                    "severity": one.severity.value,
                    "message": one.message,
                    "span": one.span,
                    "text": self.call.raw[slice(*one.span)][:_SHOWN] if one.span else "",
                }
                for one in self.judgement.findings
            ],
            "faults": list(self.judgement.faults),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """One session's calls before the guard.

    :param source: the file, and the session in it where there are several.
    :param skipped: rules that had nothing to go by, and why.
    """

    source: str
    trace: Trace
    hits: tuple[Hit, ...]
    skipped: tuple[str, ...] = ()

    def count(self, decision: Decision) -> int:
        return sum(hit.judgement.decision is decision for hit in self.hits)

    def by_rule(self) -> Counter[tuple[str, str]]:
        """(rule, severity) -> calls."""
        return Counter(
            key
            for hit in self.hits
            for key in {(one.rule, one.severity.value) for one in hit.judgement.findings}
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "source": self.source,
            "format": self.trace.format,
            "calls": len(self.trace.calls),
            "malformed": self.trace.malformed,
            "repaired": self.trace.repaired,
            "abandoned": self.trace.abandoned,
            "skipped": list(self.skipped),
            "hits": [hit.to_json() for hit in self.hits],
        }


def totals(replays: Sequence[Replay]) -> dict[str, Any]:
    """``{"traces","calls","blocked","flagged","unjudgeable","by_rule":{rule:{severity:n}}}``."""
    by_rule: dict[str, dict[str, int]] = {}
    for (rule, severity), count in sorted(
        sum((one.by_rule() for one in replays), Counter()).items()
    ):
        by_rule.setdefault(rule, {})[severity] = count
    return {
        "traces": len(replays),
        "calls": sum(len(one.trace.calls) for one in replays),
        "blocked": sum(one.count(Decision.BLOCK) for one in replays),
        "flagged": sum(one.count(Decision.FLAG) for one in replays),
        "unjudgeable": sum(one.count(Decision.UNJUDGEABLE) for one in replays),
        "by_rule": by_rule,
    }


async def replay(
    trace: Trace, *, guard: Guard, policy: TaskPolicy, source: str = ""
) -> list[Replay]:
    """The session, then each of its sub-agents', which have ledgers of their own.

    :param policy: its working folder should be the trace's own, where the log says it.
    """
    session = OfflineSession(
        policy,
        tools=trace.declared_tools,
        shells={call.name for call in trace.calls},
    )
    hits: list[Hit] = []
    for event in trace.events:
        match event:
            case Message():
                session.hear({"role": event.role, "content": event.text})
            case Result():
                id = f"call_{event.call}"
                session.hear({"role": "tool", "tool_call_id": id, "content": event.text})
            case Call():
                call = session.call(f"call_{event.number}", event.name, event.raw)
                judgement = await guard.judge(call, session.ledger)
                if judgement.findings or judgement.faults:
                    hits.append(Hit(call=event, judgement=judgement))
                if not event.held:
                    session.ran(call)
            case _:
                pass
    skipped = () if trace.declared_tools is not None else ("declared_tools: the log names none",)
    names = {rule.name for rule in guard.rules}
    own = Replay(
        source=source,
        trace=trace,
        hits=tuple(hits),
        skipped=skipped if "declared_tools" in names else (),
    )
    replays = [own]
    for number, subagent in enumerate(trace.subagents, start=1):
        name = f"{source}#{subagent.session or number}"
        replays += await replay(subagent, guard=guard, policy=policy, source=name)
    return replays
