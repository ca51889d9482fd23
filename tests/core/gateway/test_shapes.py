"""Requests whose ids, texts or roles are of another type than all that reads them later expects."""

from __future__ import annotations

from typing import Any

import pytest
from tests.core.gateway import wires
from tests.core.gateway.conftest import BASH, Client, Engine, Wire, call, result, user

CALLS = {"role": "assistant", "content": None}
FIVE: Any = 5


@pytest.mark.parametrize(
    "message",
    [
        {"role": "tool", "tool_call_id": ["x"], "content": "a"},
        {"role": "tool", "content": "a"},
        {"role": "user", "tool_call_id": {}, "content": "a"},
        {"role": "user", "content": [{"type": "text", "text": 5}]},
        {"role": "user", "content": [{"type": "text"}]},
        {"role": "user", "content": [{"text": "a"}]},
        {"role": "user", "content": ["a"]},
        {"role": "user", "content": {"type": "text", "text": "a"}},
        {"role": "user", "content": 5},
        {"role": "user", "name": 5, "content": "a"},
        {"role": "teacher", "content": "a"},
        {"role": ["user"], "content": "a"},
        {"role": "assistant", "content": "a", "reasoning_content": ["a"]},
        {**CALLS, "tool_calls": "x"},
        {**CALLS, "tool_calls": ["x"]},
        {**CALLS, "tool_calls": [call("{}", id=FIVE)]},
        {**CALLS, "tool_calls": [call("{}", name=FIVE)]},
        {**CALLS, "tool_calls": [call(FIVE)]},
        {**CALLS, "tool_calls": [{"id": "a", "type": "custom", "custom": {}}]},
        {"role": "user", "content": "a", "tool_calls": [call("{}")]},
        5,
    ],
)
async def test_a_chat_message_of_another_shape_is_refused(
    engine: Engine, client: Client, message: Any
) -> None:
    body = {"model": "m", "messages": [user("go"), message], "tools": [BASH]}
    status, error = await client.post(body)
    assert (status, error["error"]["type"]) == (400, "invalid_request_error")
    assert not engine.bodies and not client.session.transcript().turns


@pytest.mark.parametrize(
    "more",
    [
        {"stop": 5},
        {"stop": [["x"]]},
        {"chat_template_kwargs": "x"},
        {"reasoning_effort": {"a": 1}},
        {"parallel_tool_calls": "yes"},
        {"max_tokens": True},
        {"max_tokens": "5"},
        {"tools": [{"type": "function", "function": {"name": "bash", "parameters": "x"}}]},
        {"tools": [{"type": "function", "function": {"name": "bash", "description": 5}}]},
        {"tools": ["bash"]},
        {"tools": {"bash": {}}},
        {"messages": []},
        {"messages": {"role": "user"}},
    ],
)
async def test_a_chat_option_of_another_shape_is_refused(client: Client, more: Wire) -> None:
    assert (await client.post({"model": "m", "messages": [user("go")], "tools": [BASH], **more}))[
        0
    ] == 400


def block(**fields: Any) -> Wire:
    return {"role": "user", "content": [fields]}


def turn(**fields: Any) -> Wire:
    return {"role": "assistant", "content": [fields]}


@pytest.mark.parametrize(
    "message",
    [
        block(type="text", text=5),
        block(type="text"),
        block(type="tool_result", tool_use_id=["x"], content="a"),
        block(type="tool_result", tool_use_id="x", content=[{"type": "text", "text": 5}]),
        block(type="tool_result", tool_use_id="x", content=5),
        turn(type="tool_use", id=5, name="bash", input={}),
        turn(type="tool_use", id="x", name=["bash"], input={}),
        turn(type="tool_use", id="x", name="bash", input="x"),
        turn(type="thinking", thinking=["x"]),
        {"role": "tool", "content": "a"},
        {"role": "user", "content": 5},
    ],
)
async def test_a_message_of_the_messages_api_of_another_shape_is_refused(
    client: Client, message: Wire
) -> None:
    body = wires.MESSAGES.ask()
    status, _ = await wires.MESSAGES.post(client, {**body, "messages": [user("go"), message]})
    assert status == 400


@pytest.mark.parametrize(
    "item",
    [
        {"role": "user", "content": [{"type": "input_text", "text": 5}]},
        {"role": "user", "content": 5},
        {"role": "teacher", "content": "a"},
        {"type": "function_call_output", "call_id": ["x"], "output": "a"},
        {"type": "function_call_output", "call_id": "x", "output": 5},
        {"type": "function_call", "call_id": 5, "name": "bash", "arguments": "{}"},
        {"type": "function_call", "call_id": "x", "name": 5, "arguments": "{}"},
        {"type": "function_call", "call_id": "x", "name": "bash", "arguments": {}},
        {"type": "local_shell_call", "call_id": 5, "action": {}},
        {"type": "local_shell_call", "action": {}},
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": 5}]},
    ],
)
async def test_an_item_of_the_responses_api_of_another_shape_is_refused(
    client: Client, item: Wire
) -> None:
    body = wires.RESPONSES.ask()
    status, _ = await wires.RESPONSES.post(client, {**body, "input": [user("go"), item]})
    assert status == 400


async def test_what_harnesses_send_beside_is_let_through(client: Client) -> None:
    """Images, cache marks, null members, an empty list of calls."""
    marked = {"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}}
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}
    messages: list[Wire] = [
        {"role": "developer", "content": [marked]},
        {"role": "user", "content": [marked, image], "name": None},
        {"role": "assistant", "content": "", "tool_calls": [], "refusal": None},
        {"role": "assistant", "content": None, "tool_calls": [call("not json")]},
        {**result("call_1", "a"), "name": "bash"},
    ]
    await client.ask(*messages)
    (made,) = client.session.transcript().turns
    assert list(made.new_messages) == messages
