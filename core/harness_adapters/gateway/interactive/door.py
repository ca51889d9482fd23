"""The door between the upstream and the agent: one session's calls before the guard."""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import orjson

from harness_adapters.errors import BadInput
from harness_adapters.gateway import notice
from harness_adapters.gateway.failures import UpstreamError
from harness_adapters.gateway.guard.calls import ToolCall
from harness_adapters.gateway.guard.ledger import Ledger
from harness_adapters.gateway.interactive.allowances import GuardFile, fingerprint
from harness_adapters.gateway.interactive.base import Asked, HeldCall
from harness_adapters.gateway.interactive.verdicts import Verdict, Verdicts, now
from harness_adapters.gateway.judging import Judge
from harness_adapters.gateway.transcript import Decision
from harness_adapters.types import Finding, Severity, TaskPolicy

if TYPE_CHECKING:
    from harness_adapters.gateway.guard.judge import Judgement
    from harness_adapters.gateway.interactive.wire_json import Wire

MAX_SESSIONS = 256
IDLE_SECONDS = 6 * 3600.0
_MAX_SEEN = 20_000
FAULT_RULE = "guard.fault"


class Session:
    """What the guard remembers of one agent's work."""

    def __init__(self, name: str, policy: TaskPolicy, home: str) -> None:
        self.name = name
        self.ledger = Ledger(policy, home=home)
        self.judging = asyncio.Lock()
        self.used = time.monotonic()
        self._seen: OrderedDict[bytes, None] = OrderedDict()  # digests: the text is not kept

    def new(self, messages: Sequence[Wire]) -> list[Wire]:
        """Those messages that no earlier request brought."""
        fresh = []
        for message in messages:
            packed = orjson.dumps(message, default=str, option=orjson.OPT_NON_STR_KEYS)
            digest = hashlib.blake2b(packed, digest_size=12).digest()
            if digest not in self._seen:
                self._seen[digest] = None
                fresh.append(message)
        while len(self._seen) > _MAX_SEEN:
            self._seen.popitem(last=False)
        return fresh


class Sessions:
    """Sessions by name, made when first asked for and dropped when idle; never more than
    ``MAX_SESSIONS``, of which the longest unused go first."""

    def __init__(self, project: Path) -> None:
        self._policy = TaskPolicy(workdir=str(project))
        self._home = str(Path.home())
        self._by_name: OrderedDict[str, Session] = OrderedDict()

    def get(self, name: str) -> Session:
        clock = time.monotonic()
        session = self._by_name.pop(name, None) or Session(name, self._policy, self._home)
        session.used = clock
        self._by_name[name] = session
        while oldest := next(iter(self._by_name.values())):
            idle = clock - oldest.used > IDLE_SECONDS
            if not idle and len(self._by_name) <= MAX_SESSIONS:
                break
            del self._by_name[oldest.name]
        return session

    def __len__(self) -> int:
        return len(self._by_name)


class SessionDoor:
    """Rules on the reply to one request; see ``base.Door``.

    :param log_only: whatever the guard says, all calls go through.
    """

    def __init__(
        self,
        session: Session,
        asked: Asked,
        *,
        guard: Judge,
        decisions: GuardFile,
        verdicts: Verdicts,
        log_only: bool,
    ) -> None:
        self._session = session
        self._asked = asked
        self._guard = guard
        self._file = decisions
        self._verdicts = verdicts
        self._log_only = log_only
        self._told: set[str] = set()  # tools of the server: they show up in several events
        session.ledger.see_request(tools=asked.tools, new_messages=session.new(asked.messages))

    async def rule(self, calls: Sequence[HeldCall]) -> list[str | None]:
        async with self._session.judging:
            # another request of the session may have declared other tools meanwhile
            self._session.ledger.see_request(tools=self._asked.tools, new_messages=())
            return [await self._rule(call) for call in calls]

    def server_tool(self, name: str) -> None:
        if self._file.current().strip_server_tools:
            raise UpstreamError(
                "the upstream ran a tool of its own, which guard.toml forbids",
                code="server_tool",
            )
        if name not in self._told:
            self._told.add(name)
            self._note("server_tool", tool=name)

    async def _rule(self, held: HeldCall) -> str | None:
        ledger = self._session.ledger
        call = ToolCall(id="", name=held.name, raw=held.raw, ledger=ledger)
        judgement = await self._guard.judge(call, ledger)
        blocking = self._blocking(judgement)
        if blocking:
            rules = sorted({finding.rule for finding in blocking})
            if told := self._blocked(call, judgement, rules):
                return told
        elif judgement.findings:
            self._note("flagged", tool=call.name, judgement=judgement)
        if held.cut or not held.name:
            self._note("cut", tool=call.name)
            return notice.CUT_OFF
        if not blocking and not judgement.findings:
            self._verdicts.allowed += 1
        ledger.commit(call)
        return None

    def _blocking(self, judgement: Judgement) -> list[Finding]:
        """The findings that speak against the call, after what the person decided."""
        if judgement.decision not in (Decision.BLOCK, Decision.UNJUDGEABLE):
            return []
        flag_only = self._file.current().flag_only
        found = [
            finding
            for finding in judgement.findings
            if finding.severity is Severity.BLOCK and finding.rule.split(".")[0] not in flag_only
        ]
        if judgement.infra or not judgement.findings:
            found.append(Finding(rule=FAULT_RULE, severity=Severity.BLOCK, message="a rule failed"))
        return found

    def _blocked(self, call: ToolCall, judgement: Judgement, rules: list[str]) -> str | None:
        """The notice, or ``None`` when the person lets the call through."""
        decisions, mark = self._file.current(), fingerprint(call)
        if decisions.permits(rules, mark):
            try:
                self._file.use_up(mark)
            except BadInput as error:
                id = self._note("blocked", tool=call.name, judgement=judgement, rules=rules)
                return f"[guard {id}] This tool call was not run: {error}"
            self._note("allowed", tool=call.name, judgement=judgement, rules=rules, call=mark)
            return None
        if self._log_only or decisions.log_only:
            self._note("would_block", tool=call.name, judgement=judgement, rules=rules, call=mark)
            return None
        id = self._note("blocked", tool=call.name, judgement=judgement, rules=rules, call=mark)
        return blocked_notice(id, call.name, rules)

    def _note(
        self,
        outcome: str,
        *,
        tool: str,
        judgement: Judgement | None = None,
        rules: Sequence[str] | None = None,
        call: str = "",
    ) -> str:
        findings = judgement.findings if judgement else ()
        named = rules if rules is not None else sorted({one.rule for one in findings})
        id = self._verdicts.new_id()
        self._verdicts.add(
            Verdict(
                id=id,
                time=now(),
                session=self._session.name,
                tool=tool[:80],
                outcome=outcome,
                rules=tuple(named),
                spans=tuple(one.span for one in findings),
                message="; ".join(one.message for one in findings)[:500],
                faults=judgement.faults if judgement else (),
                call=call,
                policy=self._guard.policy_hash,
            )
        )
        return id


def blocked_notice(id: str, tool: str, rules: Sequence[str]) -> str:
    """What stands in the conversation in a blocked call's place, for agent and person."""
    return (
        f"[guard {id}] A call of {tool[:80]!r} was not run: {', '.join(rules)}. Only the person "
        f"at the keyboard can allow it, in a terminal of their own: ha gateway allow {id}"
    )
