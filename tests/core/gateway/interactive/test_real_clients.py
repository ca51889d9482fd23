"""Streams as the protocols' own client libraries read them."""

from __future__ import annotations

from typing import Any

import pytest
from tests.core.gateway.interactive import test_chat_stream as chat
from tests.core.gateway.interactive import test_messages_stream as messages
from tests.core.gateway.interactive import test_responses_stream as responses
from tests.core.gateway.interactive.conftest import Agent, Upstream, sse
from tests.core.gateway.interactive.test_faults import CALL, TEXT

TOOL = {"type": "function", "function": {"name": "bash", "parameters": {}}}


async def test_openai_reads_chat(agent: Agent, upstream: Upstream) -> None:
    openai = pytest.importorskip("openai")
    upstream.streams(
        sse(
            *TEXT["chat"],
            chat.part(0, **chat.call("a", chat.BAD)),
            chat.part(1, **chat.call("b", chat.GOOD)),
            chat.chunk({}, "tool_calls"),
            "[DONE]",
        )
    )
    async with (
        openai.AsyncOpenAI(base_url=f"{agent.gateway.url()}/v1", api_key="k") as client,
        client.chat.completions.stream(model="m", messages=[]) as stream,
    ):
        done = await stream.get_final_completion()
    (choice,) = done.choices
    assert [(c.id, c.function.arguments) for c in choice.message.tool_calls] == [("b", chat.GOOD)]
    assert "[guard" in choice.message.content and choice.finish_reason == "tool_calls"
    assert upstream.requests[0][1]["Authorization"] == "Bearer k"


async def test_openai_reads_responses(agent: Agent, upstream: Upstream) -> None:
    openai = pytest.importorskip("openai")
    output = [
        responses.message(0, "I will"),
        responses.function(1, responses.BAD),
        responses.function(2, responses.GOOD),
    ]
    upstream.streams(sse(*responses.whole_stream(output)))
    async with (
        openai.AsyncOpenAI(base_url=f"{agent.gateway.url()}/v1", api_key="k") as client,
        client.responses.stream(model="m", input="hi") as stream,
    ):
        done = await stream.get_final_response()
    kinds = [item.type for item in done.output]
    assert kinds == ["message", "message", "function_call"]
    assert "[guard" in done.output[1].content[0].text
    assert done.output[2].call_id == "call_2"


async def test_anthropic_reads_messages(agent: Agent, upstream: Upstream) -> None:
    anthropic = pytest.importorskip("anthropic")
    start = {
        **messages.START,
        "message": {
            **messages.START["message"],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": {"input_tokens": 1, "output_tokens": 1},
        },
    }
    closing = {**messages.closing("tool_use"), "usage": {"output_tokens": 9}}
    upstream.streams(
        sse(
            start,
            *messages.thinking(0, "hm"),
            *messages.tool(1, messages.BAD),
            *messages.tool(2, messages.GOOD),
            closing,
            messages.STOP,
        )
    )
    async with (
        anthropic.AsyncAnthropic(base_url=agent.gateway.url(), api_key="k") as client,
        client.messages.stream(model="m", max_tokens=9, messages=[]) as stream,
    ):
        done = await stream.get_final_message()
    thought, notice, call = done.content
    assert (thought.thinking, thought.signature) == ("hm", "sig/+=")
    assert "[guard" in notice.text
    assert (call.id, call.input, done.stop_reason) == ("t2", messages.GOOD, "tool_use")
    assert upstream.requests[0][1]["Authorization"] == "Bearer k"


async def test_a_cut_inside_a_call_is_an_error_to_each_of_them(
    agent: Agent, upstream: Upstream
) -> None:
    openai, anthropic = pytest.importorskip("openai"), pytest.importorskip("anthropic")
    url = agent.gateway.url()
    options: dict[str, Any] = {"api_key": "k", "max_retries": 0}
    async with openai.AsyncOpenAI(base_url=f"{url}/v1", **options) as client:
        upstream.streams(sse(*TEXT["chat"], *CALL["chat"]))
        with pytest.raises(openai.APIError, match="in the middle"):
            async for _ in await client.chat.completions.create(
                model="m", messages=[], stream=True
            ):
                pass
        upstream.streams(sse(*TEXT["responses"], *CALL["responses"][:2]))
        stream = await client.responses.create(model="m", input="hi", stream=True)
        assert [event.type async for event in stream][-1] == "response.failed"
    async with anthropic.AsyncAnthropic(base_url=url, **options) as client:
        upstream.streams(sse(*TEXT["messages"], *CALL["messages"][:2]))
        with pytest.raises(anthropic.APIStatusError, match="in the middle"):
            async for _ in await client.messages.create(
                model="m", max_tokens=9, messages=[], stream=True
            ):
                pass
