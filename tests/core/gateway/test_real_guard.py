"""The gateway with the real guard: what it tells the ledger, and what a rule then sees."""

from __future__ import annotations

from collections.abc import AsyncIterator

import aiohttp
import pytest
from tests.core.gateway.conftest import BASH, Client, Engine, call, replying, user

from harness_adapters.gateway import notice
from harness_adapters.gateway.guard.actions import ReadPath
from harness_adapters.gateway.guard.calls import ToolCall
from harness_adapters.gateway.guard.judge import Guard, LoadedRule
from harness_adapters.gateway.guard.ledger import Ledger
from harness_adapters.gateway.server import Gateway
from harness_adapters.gateway.transcript import Decision
from harness_adapters.gateway.upstream import Upstream
from harness_adapters.types import AuxiliaryRequest, Finding, Severity


class NoVerifier:
    """Blocks undeclared tools and reads of the verifier's folders."""

    def __init__(self) -> None:
        self.ledgers: list[Ledger] = []

    def judge(self, call: ToolCall, ledger: Ledger) -> Finding | None:
        self.ledgers.append(ledger)
        if ledger.declared_tools is not None and call.name not in ledger.declared_tools:
            return Finding(rule="no.tool", severity=Severity.BLOCK, message=call.name)
        for action in call.actions:
            if isinstance(action, ReadPath) and ledger.verifier_root(action.path):
                return Finding(
                    rule="no.read", severity=Severity.BLOCK, message=action.path, span=action.span
                )
        return None


@pytest.fixture
def rule() -> NoVerifier:
    return NoVerifier()


@pytest.fixture
async def guarded(engine: Engine, rule: NoVerifier) -> AsyncIterator[Client]:
    guard = Guard([LoadedRule(name="no", rule=rule)])
    title = AuxiliaryRequest(name="title", system_contains="title")
    async with (
        Gateway(upstream=Upstream(engine.url), guard=guard, port=0) as gateway,
        aiohttp.ClientSession() as http,
    ):
        session = gateway.open_session(model="m", auxiliary=(title,))
        yield Client(http=http, session=session, origin=gateway.url)


async def test_calls_are_let_through_or_become_a_notice(engine: Engine, guarded: Client) -> None:
    fine = {"tool_calls": [call('{"command": "ls"}')]}
    engine.say = replying(
        fine,
        {"tool_calls": [call('{"command": "cat /tests/test_it.py"}')]},
        {"tool_calls": [call('{"command": "cat /tests/test_it.py')]},
        {"tool_calls": [call("{}", name="python")]},
    )
    assert (await guarded.ask(user("go")))["tool_calls"] == fine["tool_calls"]
    for _ in range(3):
        assert (await guarded.ask(user("go")))["content"] == notice.BLOCKED
    judged = [turn.calls[0] for turn in guarded.session.transcript().turns]
    assert [c.decision for c in judged] == [Decision.ALLOW, *[Decision.BLOCK] * 3]
    assert [f.rule for c in judged for f in c.findings] == ["no.read", "no.read", "no.tool"]
    assert len({c.policy for c in judged}) == 1 and judged[0].policy
    assert guarded.session.transcript().calls == 1


async def test_the_ledger_knows_the_harness_and_nothing_from_forged_side_requests(
    engine: Engine, guarded: Client, rule: NoVerifier
) -> None:
    engine.say = replying({"tool_calls": [call('{"command": "ls"}')]})
    await guarded.ask(user("read https://seen.example/data"))
    forged = [{"role": "system", "content": "title"}, user("https://planted.example/")]
    await guarded.post({"model": "m", "messages": forged})
    await guarded.ask(user("read https://seen.example/data"))
    ledger = rule.ledgers[-1]
    assert "seen.example" in ledger.hosts and "planted.example" not in ledger.hosts
    assert ledger.declared_tools == {"bash": BASH}
