"""Chat Completions: what is read, what reaches the engine, and what is written."""

from __future__ import annotations

import logging
from typing import Any

import orjson
import pytest
from tests.core.gateway.conftest import BASH, Client, Engine, Wire, user
from tests.core.gateway.wires import CHAT as CHAT_WIRE

from harness_adapters.gateway.completions import engine_body
from harness_adapters.gateway.dialects.base import ModelRequest
from harness_adapters.gateway.dialects.chat import ChatDialect
from harness_adapters.gateway.failures import Refused
from harness_adapters.types import Limits, Sampling

CHAT = ChatDialect()
ASK: Wire = {"model": "m", "messages": [user("go")], "tools": [BASH]}


def read(**changes: Any) -> ModelRequest:
    return CHAT.read(orjson.dumps({**ASK, **changes}))


def sent(**changes: Any) -> Wire:
    """The body that the engine gets."""
    body: Wire = orjson.loads(
        engine_body(read(**changes), model="a", sampling=Sampling(), limits=Limits())
    )
    return body


QUIRKS: list[Wire] = [
    {"stream_options": {"include_usage": True}},
    {"stream": True, "stream_options": {"include_usage": True}},
    {"tools": [], "tool_choice": "auto", "parallel_tool_calls": False},
    {"tools": None, "tool_choice": "none"},
    {"store": False, "metadata": {"a": "b"}, "user": "u", "service_tier": "auto"},
    {"logit_bias": {}, "response_format": {"type": "text"}, "n": 1, "function_call": None},
    {"logprobs": None, "top_logprobs": 5, "temperature": None, "frequency_penalty": 1.0},
    {"max_tokens": None, "max_completion_tokens": 1_000_000_000},
    {"prompt_cache_key": "k", "safety_identifier": "s", "verbosity": "low"},
]


@pytest.mark.parametrize("quirk", QUIRKS, ids=lambda quirk: ",".join(quirk))
def test_wire_quirks_do_not_reach_a_strict_engine(quirk: Wire) -> None:
    """RF13"""
    body = sent(**quirk)
    known = {"model", "messages", "tools", "max_tokens", "temperature", "top_p", "top_k", "min_p"}
    known |= {"stream", "return_token_ids", "logprobs", "top_logprobs"}
    assert set(body) <= known
    assert ("tools" in body) == bool({**ASK, **quirk}["tools"])
    assert body["stream"] is False and body["top_logprobs"] == 0
    assert body["max_tokens"] == Limits().max_output_tokens


@pytest.mark.parametrize("quirk", QUIRKS, ids=lambda quirk: ",".join(quirk))
async def test_a_strict_engine_answers_to_wire_quirks(strict_client: Client, quirk: Wire) -> None:
    """RF13"""
    said = await CHAT_WIRE.say(strict_client, {**ASK, **quirk})
    assert said.finish == "stop" and said.text
    assert strict_client.session.transcript().token_exact


def test_what_is_dropped_is_in_the_debug_log_with_a_reason(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG, "harness_adapters.gateway.dialects.dropped")
    read(temperature=0, store=True, beyond=1, tools=[BASH], stream_options=None)
    assert [record.getMessage() for record in caplog.records] == [
        "dropped 'temperature': pinned by the session",
        "dropped 'store': of no meaning to the engine",
        "dropped 'beyond': not known here",
    ]


def test_what_an_engine_understands_passes() -> None:
    messages = [{"role": "developer", "content": [{"type": "text", "text": "x"}]}, user("go")]
    body = sent(messages=messages, stop=["\n"], parallel_tool_calls=False, max_tokens=5)
    assert body["messages"] == messages and body["stop"] == ["\n"]
    assert body["parallel_tool_calls"] is False and body["max_tokens"] == 5


@pytest.mark.parametrize(
    "change",
    [
        {"n": 2},
        {"logit_bias": {"5": 100}},
        {"response_format": {"type": "json_object"}},
        {"guided_regex": "a+"},
        {"structured_outputs": {"json": {}}},
        {"tool_choice": "required"},
        {"tool_choice": {"type": "function", "function": {"name": "bash"}}},
        {"functions": [{"name": "bash"}]},
        {"tools": [{"type": "web_search"}]},
        {"tools": [{"type": "custom", "custom": {"name": "x"}}]},
        {"tools": {"bash": {}}},
        {"tools": ["bash"]},
        {"messages": []},
        {"messages": "go"},
        {"messages": ["go"]},
        {"messages": [{"content": "go"}]},
        {"model": None},
        {"max_tokens": 0},
        {"max_tokens": "many"},
    ],
    ids=lambda change: orjson.dumps(change).decode(),
)
def test_what_cannot_be_captured_is_refused(change: Wire) -> None:
    with pytest.raises(Refused) as refused:
        read(**change)
    assert refused.value.status == 400


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"null", b"[" * 5000, b"\xff", b'{"a": NaN}'])
def test_bodies_that_are_no_object_are_refused(body: bytes) -> None:
    with pytest.raises(Refused):
        CHAT.read(body)


def test_half_a_character_does_not_end_a_session() -> None:
    """A harness that cuts tool output between two UTF-16 halves."""
    cut = b'{"model": "m", "messages": [{"role": "user", "content": "\\ud83d \\ud83d\\ude00"}]}'
    assert CHAT.read(cut).messages[0]["content"] == "\N{REPLACEMENT CHARACTER} \N{GRINNING FACE}"


@pytest.mark.parametrize("include_usage", [False, True])
async def test_usage_comes_when_asked_for_and_adds_up(
    engine: Engine, client: Client, include_usage: bool
) -> None:
    body = {**ASK, "stream": True, "stream_options": {"include_usage": include_usage}}
    _, stream = await client.post(body)
    assert stream[-1] == "[DONE]"
    usages = [event["usage"] for event in stream[:-1] if "usage" in event]
    assert len(usages) == include_usage
    if include_usage:
        assert stream[-2]["choices"] == []
        _, sampled, _ = engine.emitted[0]
        assert usages[0]["completion_tokens"] == len(sampled)
        assert "prompt_tokens_details" not in usages[0]  # RF13: null members kill a harness
    turn = client.session.transcript().turns[0]
    assert turn.usage["completion_tokens"] == len(turn.sampled_ids)


async def test_reasoning_reaches_the_harness(engine: Engine, client: Client) -> None:
    engine.say = lambda body: ({"content": "x", "reasoning_content": "hm"}, "stop")
    message = await client.ask(user("go"), stream=True)
    assert message == {"role": "assistant", "content": "x", "reasoning_content": "hm"}


async def test_an_old_style_function_call_never_reaches_the_harness(
    engine: Engine, client: Client
) -> None:
    """A call in a form that the guard does not read."""
    old = {"name": "bash", "arguments": "{}"}
    engine.say = lambda body: ({"content": "x", "function_call": old}, "stop")
    assert await client.ask(user("go")) == {"role": "assistant", "content": "x"}
