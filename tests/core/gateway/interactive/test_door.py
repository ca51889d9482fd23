"""What becomes of calls before the guard, and how a person lets one through."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from tests.core.gateway.interactive.conftest import Agent, Start, Upstream
from tests.core.gateway.interactive.test_passing import ASK, CHAT, calling

from harness_adapters.gateway.interactive import door
from harness_adapters.gateway.interactive.door import Sessions

BAD = '{"command": "forbidden"}'


async def calls(agent: Agent, session: str = "default") -> list[Any]:
    _, reply, _ = await agent.post(CHAT, ASK, session=session)
    found: list[Any] = reply["choices"][0]["message"].get("tool_calls", [])
    return found


async def allow(agent: Agent, id: str, **options: Any) -> tuple[int, Any]:
    async with agent.http.post(
        f"{agent.gateway.origin}/admin/allow",
        data=json.dumps({"id": id, **options}),
        headers={"Authorization": f"Bearer {agent.gateway.admin_key}"},
    ) as response:
        return response.status, await response.json()


async def test_the_notice_says_which_rule_and_how_to_allow_it(
    agent: Agent, upstream: Upstream
) -> None:
    upstream.says(calling(BAD))
    _, reply, _ = await agent.post(CHAT, ASK)
    (verdict,) = agent.verdicts.recent()
    said = reply["choices"][0]["message"]["content"]
    assert f"ha gateway allow {verdict.id}" in said and "words.forbidden" in said


async def test_a_call_is_allowed_once(agent: Agent, upstream: Upstream) -> None:
    upstream.says(calling(BAD))
    assert await calls(agent) == []
    status, done = await allow(agent, agent.verdicts.recent()[0].id)
    assert (status, done["once"], done["rules"]) == (200, True, ["words.forbidden"])
    assert len(await calls(agent)) == 1
    assert await calls(agent) == []
    assert agent.outcomes() == ["blocked", "allowed", "blocked"]


async def test_a_call_is_allowed_always_and_no_other_is(agent: Agent, upstream: Upstream) -> None:
    upstream.says(calling(BAD))
    await calls(agent)
    await allow(agent, agent.verdicts.recent()[0].id, always=True)
    for _ in range(2):
        assert len(await calls(agent)) == 1
    upstream.says(calling('{"command": "forbidden too"}'))
    assert await calls(agent) == []


async def test_an_unknown_id_is_not_allowed(agent: Agent) -> None:
    status, _ = await allow(agent, "abc123")
    assert status == 404


async def test_log_only_lets_all_through_and_tells(start: Start, upstream: Upstream) -> None:
    agent = await start(log_only=True)
    upstream.says(calling(BAD, '{"x": "odd"}', '{"x": 1}'))
    assert len(await calls(agent)) == 3
    assert agent.outcomes() == ["would_block", "flagged"]
    assert agent.verdicts.allowed == 1


async def test_guard_toml_counts_at_once(agent: Agent, upstream: Upstream) -> None:
    upstream.says(calling(BAD))
    path = agent.decisions.path
    path.parent.mkdir()
    for text, passed in (("log_only = true", 1), ("", 0), ('flag_only = ["words"]', 1)):
        path.write_text(text)
        assert len(await calls(agent)) == passed
    assert agent.outcomes() == ["would_block", "blocked", "flagged"]


async def test_a_rule_that_breaks_blocks_and_can_be_overruled(
    agent: Agent, upstream: Upstream
) -> None:
    upstream.says(calling('{"x": "choke"}'))
    assert await calls(agent) == []
    (verdict,) = agent.verdicts.recent()
    assert verdict.rules and "choked" in verdict.faults[0]
    await allow(agent, verdict.id)
    assert len(await calls(agent)) == 1


async def test_a_permission_that_cannot_be_used_up_does_not_count(
    agent: Agent, upstream: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    from harness_adapters.errors import BadInput
    from harness_adapters.gateway.interactive.allowances import GuardFile

    upstream.says(calling(BAD))
    await calls(agent)
    await allow(agent, agent.verdicts.recent()[0].id)

    def full(self: GuardFile, text: str) -> None:
        raise BadInput("disk full")

    monkeypatch.setattr(GuardFile, "_write", full)
    assert await calls(agent) == []


async def test_tools_of_the_server_are_told_of_or_stripped(
    agent: Agent, upstream: Upstream
) -> None:
    search = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}
    upstream.says({"content": [search], "stop_reason": "end_turn"})
    tools = [{"type": "web_search_20250305", "name": "web_search"}, {"name": "bash"}]
    asked = {"model": "m", "messages": [], "tools": tools, "tool_choice": {"type": "auto"}}
    status, reply, _ = await agent.post("/v1/messages", asked)
    assert reply["content"] == [search]
    assert agent.outcomes() == ["server_tool"]
    agent.decisions.path.parent.mkdir()
    agent.decisions.path.write_text('server_tools = "strip"')
    status, reply, _ = await agent.post("/v1/messages", asked)
    assert status == 502, "an upstream that runs one all the same"
    assert json.loads(upstream.requests[-1][2])["tools"] == [{"name": "bash"}]
    await agent.post("/v1/messages", {**asked, "tools": tools[:1]})
    assert "tool_choice" not in json.loads(upstream.requests[-1][2])


async def test_sessions_have_ledgers_of_their_own(agent: Agent, upstream: Upstream) -> None:
    seen = agent.gateway._sessions
    upstream.says(calling('{"command": "echo hi > notes.txt"}'))
    asked = {**ASK, "messages": [{"role": "user", "content": "see https://one.example/x"}]}
    await agent.post(CHAT, asked, session="one")
    await agent.post(CHAT, ASK, session="two")
    assert "one.example" in seen.get("one").ledger.hosts
    assert "one.example" not in seen.get("two").ledger.hosts
    assert seen.get("one").ledger.declared_tools == {}


async def test_sessions_are_bounded_and_idle_ones_dropped(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(door, "MAX_SESSIONS", 3)
    sessions = Sessions(tmp_path)
    first = sessions.get("0")
    for n in range(1, 4):
        sessions.get(str(n))
    assert len(sessions) == 3
    assert sessions.get("0") is not first
    monkeypatch.setattr(door, "IDLE_SECONDS", 0.0)
    sessions.get("new")
    assert len(sessions) == 1


async def test_messages_are_new_once(tmp_path: Any) -> None:
    session = Sessions(tmp_path).get("x")
    one, two = {"role": "user", "content": "a"}, {"role": "user", "content": "b"}
    assert session.new([one]) == [one]
    assert session.new([one, two]) == [two]


async def test_requests_at_once_are_judged_by_their_own_tools(
    agent: Agent, upstream: Upstream
) -> None:
    """RF14: what one request declares does not leak into another's judgement."""
    upstream.says(calling('{"x": 1}'))
    both = [agent.post(CHAT, {**ASK, "tools": []}), agent.post(CHAT, ASK)]
    for _, reply, _ in await asyncio.gather(*both):
        assert len(reply["choices"][0]["message"]["tool_calls"]) == 1
