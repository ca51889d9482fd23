"""The calls of one reply before the guard: which go on to the harness, what is put on record."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from harness_adapters.gateway import notice
from harness_adapters.gateway.completions import Completion, SampledCall
from harness_adapters.gateway.guard.calls import ToolCall
from harness_adapters.gateway.guard.ledger import Ledger
from harness_adapters.gateway.transcript import JudgedCall

if TYPE_CHECKING:
    from harness_adapters.gateway.guard.judge import Judgement


class Judge(Protocol):
    """What the gateway asks of a guard."""

    @property
    def policy_hash(self) -> str: ...

    async def judge(self, call: ToolCall, ledger: Ledger) -> Judgement: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedReply:
    """:param forwarded: the calls that the harness gets: all of the message, or none.
    :param notice: what it is told instead.
    :param malformed: a call was no strict JSON object, had no name, or was cut off.
    :param guard_faults: faults that a benign probe also showed.
    """

    calls: tuple[JudgedCall, ...] = ()
    forwarded: tuple[SampledCall, ...] = ()
    notice: str | None = None
    malformed: bool = False
    guard_faults: tuple[str, ...] = ()


async def judge_reply(completion: Completion, *, guard: Judge, ledger: Ledger) -> JudgedReply:
    """Judge each call in order; one that is let through is in the ledger for its next sibling."""
    calls = [
        ToolCall(id=call.id, name=call.name, raw=call.arguments, ledger=ledger)
        for call in completion.calls
    ]
    # Some harnesses repair cut arguments and run them, so a cut call is never forwarded. It may
    # still hold what must be scored, so it is judged like any other.
    unusable = any(_cut_off(call, completion.finish) or not call.name for call in calls)
    judged: list[JudgedCall] = []
    guard_faults: list[str] = []
    for call in calls:
        judgement = await guard.judge(call, ledger)
        if judgement.infra:
            guard_faults.extend(judgement.faults)
        judged.append(
            JudgedCall(
                id=call.id,
                name=call.name,
                arguments=call.raw if call.arguments is None else call.arguments,
                decision=judgement.decision,
                findings=judgement.findings,
                faults=judgement.faults,
                policy=guard.policy_hash,
            )
        )
        if judged[-1].executed and not unusable:
            ledger.commit(call)
    blocked = not all(call.executed for call in judged)
    if blocked or unusable:
        judged = [replace(call, dropped=True) if call.executed else call for call in judged]
    return JudgedReply(
        calls=tuple(judged),
        forwarded=() if blocked or unusable else completion.calls,
        notice=notice.BLOCKED if blocked else notice.CUT_OFF if unusable else None,
        malformed=any(call.arguments is None or not call.name for call in calls),
        guard_faults=tuple(guard_faults),
    )


def _cut_off(call: ToolCall, finish: str) -> bool:
    return finish == "length" and call.arguments is None
