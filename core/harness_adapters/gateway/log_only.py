"""Shadow mode: judge and record, hold nothing back."""

from __future__ import annotations

from dataclasses import replace

from harness_adapters.gateway.guard.calls import ToolCall
from harness_adapters.gateway.guard.judge import Guard, Judgement
from harness_adapters.gateway.guard.ledger import Ledger
from harness_adapters.gateway.transcript import Decision


class LogOnlyGuard(Guard):
    """A guard whose blocks become flags. The findings keep their severity, so that the record
    says what would have been blocked; the policy hash says that nothing was."""

    @property
    def policy_hash(self) -> str:
        return f"{super().policy_hash}-log-only"

    async def judge(self, call: ToolCall, ledger: Ledger) -> Judgement:
        judgement = await super().judge(call, ledger)
        if judgement.decision in (Decision.BLOCK, Decision.UNJUDGEABLE):
            return replace(judgement, decision=Decision.FLAG)
        return judgement
