"""What is fuzzed, and what must hold for each: the gateway answers or raises one of its own errors,
and whatever a client could take for a call was judged."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import orjson
from hypothesis import strategies as st
from tests.core.gateway.interactive.conftest import WordDoor, splits, sse, through
from tests.core.gateway.interactive.test_fuzz import (
    PROTOCOLS,
    STREAMS,
    WHOLE,
    assert_judged,
    mutated,
)

from harness_adapters.gateway import server
from harness_adapters.gateway.capture import read_tokens
from harness_adapters.gateway.completions import engine_body, read_completion
from harness_adapters.gateway.dialects.base import Envelope, ModelReply, ModelRequest
from harness_adapters.gateway.failures import Refused, TokenError, UpstreamError
from harness_adapters.gateway.guard.judge import Guard
from harness_adapters.gateway.guard.ledger import Ledger
from harness_adapters.gateway.interactive.sse import SseParser
from harness_adapters.gateway.judging import judge_reply
from harness_adapters.types import Limits, Sampling, TaskPolicy

Target = Callable[[st.DataObject], Awaitable[None]]
NAMES = tuple(PROTOCOLS)
DIALECTS = {"chat": server.CHAT, "messages": server.MESSAGES, "responses": server.RESPONSES}
CALL = {
    "id": "a",
    "type": "function",
    "function": {"name": "bash", "arguments": '{"command":"ls"}'},
}
ENGINE_REPLY: dict[str, Any] = {
    "id": "x",
    "choices": [
        {
            "index": 0,
            "message": {"role": "assistant", "content": "x", "tool_calls": [CALL, CALL]},
            "finish_reason": "tool_calls",
            "token_ids": [1, 2],
            "logprobs": {"content": [{"token": "a", "logprob": -0.5}] * 2},
        }
    ],
    "prompt_token_ids": [3, 4],
    "usage": {"prompt_tokens": 2, "completion_tokens": 2},
}
SCHEMA = {"type": "object", "properties": {"command": {"type": "string"}}}
REQUESTS: dict[str, dict[str, Any]] = {
    "chat": {
        "model": "m",
        "messages": [
            {"role": "system", "content": "be good"},
            {"role": "user", "content": [{"type": "text", "text": "go"}]},
            {"role": "assistant", "content": None, "tool_calls": [CALL]},
            {"role": "tool", "tool_call_id": "a", "content": "done"},
        ],
        "tools": [{"type": "function", "function": {"name": "bash", "parameters": SCHEMA}}],
        "stream": True,
        "stream_options": {"include_usage": True},
        "max_tokens": 9,
    },
    "messages": {
        "model": "m",
        "system": [{"type": "text", "text": "be good", "cache_control": {"type": "ephemeral"}}],
        "messages": [
            {"role": "user", "content": "go"},
            {
                "role": "assistant",
                "content": [{"type": "tool_use", "id": "a", "name": "bash", "input": {"x": 1}}],
            },
            {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": "a", "content": "done"}],
            },
        ],
        "tools": [{"name": "bash", "input_schema": SCHEMA}],
        "max_tokens": 9,
    },
    "responses": {
        "model": "m",
        "instructions": "be good",
        "input": [
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "go"}]},
            {"type": "function_call", "call_id": "a", "name": "bash", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "a", "output": "done"},
        ],
        "tools": [{"type": "function", "name": "bash", "parameters": SCHEMA}],
        "stream": True,
    },
}
cuts = st.lists(st.integers(0, 4000), max_size=4)


def targets() -> dict[str, Target]:
    found: dict[str, Target] = {"sse reader": reader}
    for name in NAMES:
        found |= {
            f"{name} stream, events changed": _events(name),
            f"{name} stream, bytes changed": _bytes(name),
            f"{name} reply": _whole(name),
            f"{name} request": _request(name),
            f"{name} from the engine's reply": _translated(name),
        }
    return found


# --- daily use: an upstream of the same dialect ---------------------------------------------------


async def reader(data: st.DataObject) -> None:
    """The split of the bytes never matters."""
    raw = data.draw(st.binary(max_size=300) | st.sampled_from(list(corpus())))
    whole, parts = SseParser(), SseParser()
    expected = whole.feed(raw) + whole.end()
    found = [event for part in splits(raw, data.draw(cuts)) for event in parts.feed(part)]
    assert found + parts.end() == expected


def _events(name: str) -> Target:
    async def run(data: st.DataObject) -> None:
        events = list(STREAMS[name])
        for _ in range(data.draw(st.integers(0, 2))):  # dropped, sent twice, sent too early
            place = data.draw(st.integers(0, len(events) - 1))
            event = events.pop(place)
            for where in data.draw(st.lists(st.integers(0, len(events)), max_size=2)):
                events.insert(where, event)
            if not events:
                break
        events = mutated(events, data) if events and data.draw(st.booleans()) else events
        raw = sse(*(e if isinstance(e, dict | str) else json.dumps(e) for e in events))
        await _through(name, raw[: data.draw(st.integers(0, len(raw)))], data.draw(cuts))

    return run


def _bytes(name: str) -> Target:
    async def run(data: st.DataObject) -> None:
        raw = bytearray(sse(*STREAMS[name]))
        for _ in range(data.draw(st.integers(1, 6))):
            at = data.draw(st.integers(0, len(raw)))
            gone = data.draw(st.integers(0, 4))
            raw[at : at + gone] = data.draw(st.binary(max_size=4) | st.sampled_from(TOKENS))
        await _through(name, bytes(raw), data.draw(cuts))

    return run


TOKENS = [
    *(b"\n\n", b"\r", b"data: ", b"event: ", b"[DONE]", b"null", b"{", b"}", b"[", b'"', b"\\"),
    *(b'"tool_calls"', b'"tool_use"', b'"function_call"', b'"index":0,', b"1e999", b"\\ud800"),
    *(b"\\n", b"\\ndata: {}\\n\\n"),  # in a string: a line break where it is read, none before
]


async def raw_stream(raw: bytes) -> None:
    """Any bytes as a stream of the protocol that the first byte picks, split as the second says."""
    if len(raw) < 2:
        return
    body = raw[2:]
    step = raw[1] * 8 + 1
    await _through(NAMES[raw[0] % len(NAMES)], body, range(step, len(body), step))


def corpus() -> Iterator[bytes]:
    for number, name in enumerate(NAMES):
        yield bytes((number, 255)) + sse(*STREAMS[name])


async def _through(name: str, raw: bytes, where: Any) -> None:
    door = WordDoor()
    out = await through(PROTOCOLS[name].stream(door), splits(raw, where))
    client = SseParser()  # as the standard says, so that whatever is smuggled in is found
    sent = [event.data for event in client.feed(out) + client.end()]
    assert_judged([json.loads(one) for one in sent if one != b"[DONE]"], door)


def _whole(name: str) -> Target:
    async def run(data: st.DataObject) -> None:
        reply, door = mutated(WHOLE[name], data), WordDoor()
        try:
            got = await PROTOCOLS[name].whole(reply, door)
        except UpstreamError:
            return
        assert_judged(got, door)

    return run


# --- training: one engine behind all dialects -----------------------------------------------------


def _request(name: str) -> Target:
    async def run(data: st.DataObject) -> None:
        body = orjson.dumps(mutated(REQUESTS[name], data))
        if data.draw(st.booleans()):
            at = data.draw(st.integers(0, len(body)))
            body = body[:at] + data.draw(st.binary(max_size=4)) + body[at:]
        try:
            request = DIALECTS[name].read(body)
        except Refused:
            return
        engine_body(request, model="m", sampling=Sampling(), limits=Limits())

    return run


def _translated(name: str) -> Target:
    async def run(data: st.DataObject) -> None:
        raw = mutated(ENGINE_REPLY, data)
        if not isinstance(raw, dict):
            return
        try:
            completion = read_completion(raw)
            read_tokens(raw)
        except (UpstreamError, TokenError):
            return
        judged = await judge_reply(completion, guard=Guard(()), ledger=Ledger(TaskPolicy()))
        assert len(judged.calls) == len(completion.calls)
        message: dict[str, Any] = {"role": "assistant", "content": completion.content}
        if judged.forwarded:
            message["tool_calls"] = [call.wire() for call in judged.forwarded]
        dialect = DIALECTS[name]
        envelope = Envelope.new("m", prefix=dialect.id_prefix)
        reply = ModelReply(
            envelope=envelope, message=message, finish=completion.finish, usage=completion.usage
        )
        request = ModelRequest(model="m", messages=(), stream=True, include_usage=True)
        json.loads(dialect.whole(request, reply))
        out = dialect.stream_start(envelope) + dialect.stream_rest(request, reply, waited=0)
        for block in out.split(b"\n\n"):
            payload = block.partition(b"data: ")[2]
            if payload and payload != b"[DONE]":
                json.loads(payload)

    return run
