"""Anthropic Messages: what is read, what reaches the engine, and what is written."""

from __future__ import annotations

import io
import logging
from typing import Any

import anthropic
import orjson
import pytest
from tests.core.gateway.conftest import Client, Engine, call, replying
from tests.core.gateway.wires import MESSAGES, SCHEMA, Wire

from harness_adapters.gateway.completions import engine_body
from harness_adapters.gateway.dialects.base import ModelRequest
from harness_adapters.gateway.dialects.messages import MessagesDialect
from harness_adapters.gateway.failures import Refused
from harness_adapters.types import Limits, Sampling

BASH: Wire = {"name": "bash", "description": "runs", "input_schema": SCHEMA}
KNOWN = {"model", "messages", "tools", "max_tokens", "temperature", "top_p", "top_k", "min_p"}
KNOWN |= {"stream", "return_token_ids", "logprobs", "top_logprobs"}


def read(**changes: Any) -> ModelRequest:
    return MessagesDialect().read(orjson.dumps({**MESSAGES.ask(), "tools": [BASH], **changes}))


def sent(**changes: Any) -> Wire:
    """The body that the engine gets."""
    body: Wire = orjson.loads(
        engine_body(read(**changes), model="a", sampling=Sampling(), limits=Limits())
    )
    return body


QUIRKS: list[Wire] = [
    {"metadata": {"user_id": "u"}, "service_tier": "auto", "inference_geo": "us", "speed": "fast"},
    {"betas": ["x"], "context_management": {"edits": [{"type": "clear_tool_uses_20250919"}]}},
    {"thinking": {"type": "enabled", "budget_tokens": 1024}, "temperature": 1, "top_k": 5},
    {"output_config": {"effort": "max"}, "cache_control": {"type": "ephemeral"}},
    {"tools": [], "tool_choice": {"type": "auto", "disable_parallel_tool_use": True}},
    {"tools": [{**BASH, "type": "custom", "strict": True, "eager_input_streaming": True}]},
    {"max_tokens": 1_000_000_000, "stream": True, "unheard_of": {"a": 1}},
]


@pytest.mark.parametrize("quirk", QUIRKS, ids=lambda quirk: ",".join(quirk))
def test_wire_quirks_do_not_reach_a_strict_engine(quirk: Wire) -> None:
    """RF13"""
    body = sent(**quirk)
    assert set(body) <= KNOWN and body["stream"] is False
    assert ("tools" in body) == ({**MESSAGES.ask(), **quirk}["tools"] != [])
    assert body["max_tokens"] <= Limits().max_output_tokens
    assert b"cache_control" not in orjson.dumps(body)


@pytest.mark.parametrize("quirk", QUIRKS, ids=lambda quirk: ",".join(quirk))
async def test_a_strict_engine_answers_to_wire_quirks(strict_client: Client, quirk: Wire) -> None:
    """RF13"""
    said = await MESSAGES.say(strict_client, {**MESSAGES.ask(), **quirk})
    assert said.finish == "stop" and said.text
    assert strict_client.session.transcript().token_exact


def test_what_is_dropped_is_in_the_debug_log_with_a_reason(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG, "harness_adapters.gateway.dialects.dropped")
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": ""}}
    read(metadata={"user_id": "u"}, beyond=1, messages=[{"role": "user", "content": [image]}])
    logged = [record.getMessage() for record in caplog.records]
    assert "dropped 'metadata': of no meaning to the engine" in logged
    assert "dropped 'beyond': not known here" in logged
    assert "dropped a block of type 'image': the engine reads text only" in logged


def test_a_conversation_of_claude_code_becomes_chat_messages() -> None:
    cache = {"cache_control": {"type": "ephemeral"}}
    body = sent(
        system=[
            {"type": "text", "text": "x-anthropic-billing-header: cc_version=2; cch=1;"},
            {"type": "text", "text": "You are an agent.", **cache},
            {"type": "text", "text": "\nBe brief.", **cache},
        ],
        messages=[
            {"role": "user", "content": [{"type": "text", "text": "go"}]},
            {"role": "system", "content": [{"type": "text", "text": "# Environment", **cache}]},
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "hm", "signature": "unsigned"},
                    {"type": "redacted_thinking", "data": "x"},
                    {"type": "text", "text": "look"},
                    {"type": "tool_use", "id": "t1", "name": "bash", "input": {"command": "ls"}},
                    {"type": "tool_use", "id": "t2", "name": "bash", "input": {}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "and then"},
                    {"type": "tool_result", "tool_use_id": "t2", "is_error": True, "content": "no"},
                    {
                        "type": "tool_result",
                        "tool_use_id": "t1",
                        "content": [
                            {"type": "text", "text": "a"},
                            {"type": "image", "source": {}},
                            {"type": "text", "text": "b", **cache},
                        ],
                        **cache,
                    },
                ],
            },
        ],
    )
    assert body["messages"] == [
        {"role": "system", "content": "You are an agent.\n\n\nBe brief."},
        {"role": "user", "content": "go"},
        {"role": "user", "content": "<system-reminder>\n# Environment\n</system-reminder>"},
        {
            "role": "assistant",
            "content": "look",
            "reasoning_content": "hm",
            "tool_calls": [call('{"command":"ls"}', id="t1"), call("{}", id="t2")],
        },
        {
            "role": "tool",
            "tool_call_id": "t1",
            "content": "a\n[image left out: the model reads text only]\nb",
        },
        {"role": "tool", "tool_call_id": "t2", "content": "Error: no"},
        {"role": "user", "content": "and then"},
    ]
    function = {"name": "bash", "description": "runs", "parameters": SCHEMA}
    assert body["tools"] == [{"type": "function", "function": function}]


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("plain", "plain"),
        ([], ""),
        ([{"type": "document", "source": {"type": "text", "data": "d"}}], "d"),
        (
            [{"type": "document", "source": {"type": "base64"}}],
            "[document left out: the model reads text only]",
        ),
        ([{"type": "unheard_of"}, {"type": "text", "text": "x"}], "x"),
    ],
)
def test_user_content_of_every_kind(content: Any, text: str) -> None:
    assert sent(messages=[{"role": "user", "content": content}])["messages"] == [
        {"role": "user", "content": text}
    ]


def test_a_result_without_content_and_a_reply_without_text() -> None:
    messages = sent(
        messages=[
            {"role": "user", "content": "go"},
            {
                "role": "assistant",
                "content": [{"type": "tool_use", "id": "t", "name": "b", "input": {}}],
            },
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t"}]},
            {"role": "assistant", "content": []},
        ]
    )["messages"]
    assert [message["content"] for message in messages] == ["go", None, "", ""]


def test_what_an_engine_understands_passes() -> None:
    body = sent(
        stop_sequences=["\n"],
        max_tokens=5,
        output_config={"effort": "high"},
        tool_choice={"type": "auto", "disable_parallel_tool_use": True},
    )
    assert (body["stop"], body["max_tokens"], body["reasoning_effort"]) == (["\n"], 5, "high")
    assert (body["tool_choice"], body["parallel_tool_calls"]) == ("auto", False)


def test_a_deferred_tool_is_none_until_something_refers_to_it() -> None:
    deferred = [BASH, {**BASH, "name": "web", "defer_loading": True}]
    assert list(read(tools=deferred).tools) == ["bash"]
    result = {
        "type": "tool_result",
        "tool_use_id": "t",
        "content": [{"type": "tool_reference", "tool_name": "web"}],
    }
    addition = {"type": "tool_addition", "tool": {"type": "tool_reference", "name": "web"}}
    for message in (
        {"role": "user", "content": [result]},
        {"role": "system", "content": [addition]},
    ):
        messages = [{"role": "user", "content": "go"}, message]
        assert list(read(tools=deferred, messages=messages).tools) == ["bash", "web"]


def test_a_tool_may_come_into_the_conversation_later() -> None:
    definition = {"type": "tool_definition", "definition": {**BASH, "name": "late"}}
    added = {"role": "system", "content": [{"type": "tool_addition", "tool": definition}]}
    request = read(messages=[{"role": "user", "content": "go"}, added])
    assert list(request.tools) == ["bash", "late"]


@pytest.mark.parametrize(
    "change",
    [
        {"tools": [{"type": "web_search_20250305", "name": "web_search"}]},
        {"tools": [{"type": "bash_20250124", "name": "bash"}]},
        {"tools": [{"type": "mcp_toolset", "mcp_server_name": "x"}]},
        {"tools": [{"name": "bash"}]},
        {"tools": [{"input_schema": {}}]},
        {"tools": {"bash": {}}},
        {"mcp_servers": [{"type": "url", "url": "https://x", "name": "x"}]},
        {"container": {"skills": []}},
        {"output_format": {"type": "json_schema"}},
        {"output_config": {"format": {"type": "json_schema", "schema": {}}}},
        {"tool_choice": {"type": "any"}},
        {"tool_choice": {"type": "tool", "name": "bash"}},
        {"tool_choice": "auto"},
        {"messages": []},
        {"messages": "go"},
        {"messages": [{"role": "tool", "content": "x"}]},
        {"messages": [{"role": "user"}]},
        {"messages": [{"role": "user", "content": [{"type": "text"}]}]},
        {"messages": [{"role": "user", "content": [{"type": "tool_result"}]}]},
        {"messages": [{"role": "assistant", "content": [{"type": "tool_use", "input": "x"}]}]},
        {"model": None},
        {"max_tokens": 0},
        {"max_tokens": True},
        {"max_tokens": "many"},
        {"stop_sequences": "x"},
        {"system": 5},
    ],
    ids=lambda change: orjson.dumps(change).decode()[:60],
)
def test_what_cannot_be_captured_is_refused(change: Wire) -> None:
    with pytest.raises(Refused) as refused:
        read(**change)
    assert refused.value.status == 400


def test_a_server_side_tool_is_refused_by_a_code_of_its_own() -> None:
    with pytest.raises(Refused) as refused:
        read(tools=[{"type": "web_fetch_20250910", "name": "web_fetch"}])
    assert refused.value.code == "unsupported_tool" and "web_fetch" in str(refused.value)


@pytest.mark.parametrize("stream", [False, True])
async def test_thinking_stop_texts_and_cached_tokens_reach_the_harness(
    engine: Engine, client: Client, stream: bool
) -> None:
    def change(reply: Wire) -> None:
        reply["choices"][0]["stop_reason"] = "END"
        reply["usage"]["prompt_tokens_details"] = {"cached_tokens": 2}

    engine.say = lambda body: ({"content": "x", "reasoning_content": "hm"}, "stop")
    engine.change = change
    _, reply = await MESSAGES.post(client, MESSAGES.ask(stream=stream, stop_sequences=["END"]))
    thinking, text = reply["content"]
    assert thinking == {"type": "thinking", "thinking": "hm", "signature": "unsigned"}
    assert text == {"type": "text", "text": "x"}
    assert (reply["stop_reason"], reply["stop_sequence"]) == ("stop_sequence", "END")
    prompt, sampled, _ = engine.emitted[0]
    usage = reply["usage"]
    assert usage["input_tokens"] + usage["cache_read_input_tokens"] == len(prompt)
    assert (usage["cache_read_input_tokens"], usage["output_tokens"]) == (2, len(sampled))


async def test_counting_tokens_is_an_estimate_that_asks_no_engine(
    engine: Engine, client: Client
) -> None:
    async def count(body: Wire) -> Any:
        async with client.http.post(
            f"{client.origin}{client.session.path}/v1/messages/count_tokens?beta=true",
            data=io.BytesIO(orjson.dumps(body)),
        ) as response:
            return response.status, await response.json()

    short, long = MESSAGES.ask("go"), MESSAGES.ask("go " * 1000)
    del short["max_tokens"]
    status, few = await count(short)
    assert status == 200 and few["estimated"] is True
    assert (await count(short))[1] == few
    assert 1000 <= (await count(long))[1]["input_tokens"] - few["input_tokens"] <= 1500
    assert (await count({"model": "m"}))[0] == 400
    assert not engine.bodies and not client.session.transcript().turns


async def test_the_beta_route_and_anthropics_own_client(engine: Engine, client: Client) -> None:
    engine.say = replying({"content": "look", "tool_calls": [call('{"command": "ls"}')]})
    sdk = anthropic.AsyncAnthropic(
        api_key=client.session.key, base_url=client.origin, max_retries=0
    )
    async with sdk:
        ask: Any = {
            "model": "m",
            "max_tokens": 10,
            "messages": [{"role": "user", "content": "go"}],
            "tools": [BASH],
        }
        message = await sdk.beta.messages.create(**ask, betas=["context-management-2025-06-27"])
        async with sdk.messages.stream(**ask) as stream:
            final = await stream.get_final_message()
        assert message.content[1].type == final.content[1].type == "tool_use"
        assert message.content[1].input == final.content[1].input == {"command": "ls"}
        counted = await sdk.messages.count_tokens(model="m", messages=ask["messages"])
        assert counted.input_tokens > 0
        assert [model.id async for model in sdk.models.list()] == ["adapter.v1"]
        with pytest.raises(anthropic.PermissionDeniedError):
            await sdk.messages.create(**{**ask, "tools": []})
        with pytest.raises(anthropic.BadRequestError, match="web_search"):
            await sdk.messages.create(
                **{**ask, "tools": [{"type": "web_search_20250305", "name": "web_search"}]}
            )
    assert len(client.session.transcript().turns) == 2
