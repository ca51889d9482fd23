"""What a client sees when its upstream fails: its protocol's own error, and no call."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from tests.core.gateway.interactive import (
    test_chat_stream as chat,
)
from tests.core.gateway.interactive import (
    test_messages_stream as messages,
)
from tests.core.gateway.interactive import (
    test_responses_stream as responses,
)
from tests.core.gateway.interactive.conftest import Agent, Start, Upstream, sse

from harness_adapters.gateway.guard.ledger import Ledger

ASK = {"model": "m", "stream": True, "messages": [], "input": "hi"}
PATHS = {
    "chat": "/v1/chat/completions",
    "messages": "/v1/messages",
    "responses": "/v1/responses",
}
TEXT: dict[str, list[Any]] = {
    "chat": [chat.chunk({"content": "I will"})],
    "messages": [messages.START, *messages.text(0, "I will")],
    "responses": responses.numbered(
        [responses.CREATED, *responses.life(0, responses.message(0, "I will"))]
    ),
}
CALL: dict[str, list[Any]] = {
    "chat": [chat.part(0, **chat.call("a", chat.GOOD))],
    "messages": messages.tool(1, messages.GOOD),
    "responses": responses.life(1, responses.function(1, responses.GOOD)),
}
END: dict[str, list[Any]] = {
    "chat": [chat.chunk({}, "tool_calls"), "[DONE]"],
    "messages": [messages.closing("tool_use"), messages.STOP],
    "responses": [
        {
            "type": "response.completed",
            "response": responses.reply(
                [responses.message(0, "I will"), responses.function(1, responses.GOOD)]
            ),
        }
    ],
}
every_protocol = pytest.mark.parametrize("name", list(PATHS))


WHOLE: dict[str, Any] = {
    "chat": {
        "choices": [
            {
                "index": 0,
                "message": {
                    "role": "assistant",
                    "content": "x",
                    "tool_calls": [chat.call("a", chat.GOOD)],
                },
                "finish_reason": "tool_calls",
            }
        ]
    },
    "messages": {
        "content": [
            {"type": "text", "text": "x"},
            {"type": "tool_use", "id": "a", "name": "bash", "input": messages.GOOD},
        ],
        "stop_reason": "tool_use",
    },
    "responses": responses.reply(
        [responses.message(0, "x"), responses.function(1, responses.GOOD)]
    ),
}


def is_error(name: str, event: Any) -> bool:
    if name == "chat":
        return set(event) == {"error"}
    return bool(event["type"] == ("error" if name == "messages" else "response.failed"))


def no_call(events: list[Any]) -> bool:
    said = json.dumps(events)
    return not any(mark in said for mark in ('"tool_calls"', '"tool_use"', '"function_call"'))


@every_protocol
@pytest.mark.parametrize("how", ["closed", "broken"])
@pytest.mark.parametrize("inside", ["text", "a call"])
async def test_a_cut(agent: Agent, upstream: Upstream, name: str, how: str, inside: str) -> None:
    sent = TEXT[name] + (CALL[name][:1] if inside == "a call" else [])
    upstream.streams(sse(*sent), *([None] if how == "broken" else []))
    status, events, _ = await agent.post(PATHS[name], ASK)
    assert status == 200
    assert "I will" in json.dumps(events)
    assert is_error(name, events[-1]) and no_call(events)
    assert not agent.verdicts.allowed


@every_protocol
async def test_malformed_events(agent: Agent, upstream: Upstream, name: str) -> None:
    upstream.streams(sse(*TEXT[name], *CALL[name], "{not json", *END[name]))
    _, events, _ = await agent.post(PATHS[name], ASK)
    assert is_error(name, events[-1]) and no_call(events)


@every_protocol
async def test_silence(start: Start, upstream: Upstream, name: str) -> None:
    agent = await start(silence=0.3, keep_alive=0.1)
    upstream.streams(sse(*TEXT[name], *CALL[name]), asyncio.Event())
    _, events, _ = await agent.post(PATHS[name], ASK)
    assert is_error(name, events[-1]) and no_call(events)
    assert "silent" in json.dumps(events[-1])
    await asyncio.wait_for(upstream.gone.wait(), 5)


@every_protocol
async def test_silence_before_the_first_byte(start: Start, upstream: Upstream, name: str) -> None:
    agent = await start(silence=0.2)

    async def script(http: Any, asked: Any) -> Any:
        await asyncio.Event().wait()

    upstream.script = script
    status, reply, _ = await agent.post(PATHS[name], ASK)
    assert status == 504
    assert reply["error"]["type"] == ("timeout_error" if name == "messages" else "api_error")


@every_protocol
@pytest.mark.parametrize("status", [429, 500])
async def test_a_refusal(agent: Agent, upstream: Upstream, name: str, status: int) -> None:
    told = {"type": "error", "error": {"type": "busy", "message": "later"}}
    upstream.says(told, status=status, headers={"Retry-After": "3"})
    got, reply, headers = await agent.post(PATHS[name], ASK)
    assert (got, reply, headers["Retry-After"]) == (status, told, "3")


@every_protocol
async def test_an_upstream_that_is_not_there(start: Start, name: str) -> None:
    agent = await start(upstream="http://127.0.0.1:9")
    status, reply, _ = await agent.post(PATHS[name], ASK)
    assert status == 502 and "could not be reached" in reply["error"]["message"]


@every_protocol
async def test_an_answer_that_is_neither_json_nor_a_stream(
    agent: Agent, upstream: Upstream, name: str
) -> None:
    upstream.says(b"<html>hello", headers={"Content-Type": "text/html"})
    status, _, _ = await agent.post(PATHS[name], ASK)
    assert status == 502


@every_protocol
async def test_signs_of_life_while_a_call_is_held(
    start: Start, upstream: Upstream, name: str
) -> None:
    agent = await start(keep_alive=0.05)
    go_on = asyncio.Event()
    upstream.streams(sse(*TEXT[name], *CALL[name]), go_on, sse(*END[name]))
    url = agent.gateway.url() + PATHS[name]
    async with agent.http.post(url, json=ASK) as response:
        seen = b""
        while seen.count(b"\n\n") < len(TEXT[name]) + 2:
            seen += await response.content.readany()
        go_on.set()
        seen += await response.read()
    assert b"ls" in seen


@every_protocol
@pytest.mark.parametrize("stream", [False, True])
async def test_a_gateway_that_is_broken(
    agent: Agent, upstream: Upstream, name: str, stream: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(self: Ledger, call: Any) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(Ledger, "commit", broken)
    if stream:
        upstream.streams(sse(*TEXT[name], *CALL[name], *END[name]))
    else:
        upstream.says(WHOLE[name])
    status, reply, _ = await agent.post(PATHS[name], ASK)
    assert status == (200 if stream else 500)
    assert no_call(reply if stream else [reply])
    assert "gateway failed" in json.dumps(reply[-1] if stream else reply)


@every_protocol
async def test_a_client_that_leaves_ends_the_work(
    agent: Agent, upstream: Upstream, name: str
) -> None:
    upstream.streams(sse(*TEXT[name]), asyncio.Event())
    async with agent.http.post(agent.gateway.url() + PATHS[name], json=ASK) as response:
        await response.content.readany()
    await asyncio.wait_for(upstream.gone.wait(), 5)
