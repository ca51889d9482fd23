"""OpenAI Responses: what is read, what reaches the engine, and what is written."""

from __future__ import annotations

from typing import Any

import openai
import orjson
import pytest
from tests.core.gateway.conftest import Client, Engine, call, replying
from tests.core.gateway.wires import RESPONSES, SCHEMA, Wire

from harness_adapters.gateway.completions import engine_body
from harness_adapters.gateway.dialects.base import ModelRequest
from harness_adapters.gateway.dialects.responses import ResponsesDialect
from harness_adapters.gateway.failures import Refused
from harness_adapters.types import Limits, Sampling

BASH: Wire = {"type": "function", "name": "bash", "parameters": SCHEMA}
PATCH: Wire = {
    "type": "custom",
    "name": "apply_patch",
    "description": "edits files",
    "format": {"type": "grammar", "syntax": "lark", "definition": 'start: "x"'},
}
AGENTS: Wire = {
    "type": "namespace",
    "name": "agents",
    "description": "d",
    "tools": [{"type": "function", "name": "spawn", "parameters": SCHEMA}],
}
SHELL: Wire = {"type": "local_shell"}
KNOWN = {"model", "messages", "tools", "max_tokens", "temperature", "top_p", "top_k", "min_p"}
KNOWN |= {"stream", "return_token_ids", "logprobs", "top_logprobs"}


def read(**changes: Any) -> ModelRequest:
    return ResponsesDialect().read(orjson.dumps({**RESPONSES.ask(), **changes}))


def sent(**changes: Any) -> Wire:
    """The body that the engine gets."""
    body: Wire = orjson.loads(
        engine_body(read(**changes), model="a", sampling=Sampling(), limits=Limits())
    )
    return body


QUIRKS: list[Wire] = [
    {"store": False, "include": ["reasoning.encrypted_content"], "prompt_cache_key": "k"},
    {"store": True, "metadata": {"a": "b"}, "user": "u", "service_tier": "auto"},
    {"client_metadata": {"a": "b"}, "truncation": "auto", "top_logprobs": 5, "temperature": 0},
    {"reasoning": {"summary": "auto"}, "text": {"format": {"type": "text"}, "verbosity": "low"}},
    {"reasoning": {"effort": "xhigh"}, "text": None, "stream_options": {"include_obfuscation": 1}},
    {"tools": [], "tool_choice": "auto", "parallel_tool_calls": True},
    {"tools": None, "tool_choice": "none", "previous_response_id": None, "background": False},
    {"max_output_tokens": 1_000_000_000, "stream": True, "unheard_of": 1},
    {"tools": [{**BASH, "strict": False, "defer_loading": True}]},
]


@pytest.mark.parametrize("quirk", QUIRKS, ids=lambda quirk: ",".join(quirk))
def test_wire_quirks_do_not_reach_a_strict_engine(quirk: Wire) -> None:
    """RF13"""
    body = sent(**quirk)
    assert set(body) <= KNOWN and body["stream"] is False
    assert ("tools" in body) == bool({**RESPONSES.ask(), **quirk}["tools"])
    assert body["max_tokens"] <= Limits().max_output_tokens
    for tool in body.get("tools", ()):
        assert set(tool["function"]) <= {"name", "description", "parameters"}


@pytest.mark.parametrize("quirk", QUIRKS, ids=lambda quirk: ",".join(quirk))
async def test_a_strict_engine_answers_to_wire_quirks(strict_client: Client, quirk: Wire) -> None:
    """RF13"""
    said = await RESPONSES.say(strict_client, {**RESPONSES.ask(), **quirk})
    assert said.finish == "stop" and said.text
    assert strict_client.session.transcript().token_exact


def test_a_conversation_of_codex_becomes_chat_messages() -> None:
    def said(role: str, *texts: str, kind: str = "input_text") -> Wire:
        parts = [{"type": kind, "text": text} for text in texts]
        return {"type": "message", "id": "msg_1", "role": role, "content": parts}

    body = sent(
        instructions="You are an agent.",
        tools=[BASH, PATCH, AGENTS, SHELL],
        input=[
            said("developer", "Be brief.", "Be kind."),
            said("user", "<environment_context>"),
            {"role": "user", "content": "go"},
            {
                "type": "reasoning",
                "id": "rs_1",
                "summary": [{"type": "summary_text", "text": "hm"}],
                "encrypted_content": None,
            },
            {**said("assistant", "look", kind="output_text"), "status": "completed"},
            {"type": "function_call", "id": "f", "call_id": "c1", "name": "bash", "arguments": "{"},
            {"type": "custom_tool_call", "call_id": "c2", "name": "apply_patch", "input": "*** x"},
            {
                "type": "function_call",
                "call_id": "c3",
                "name": "spawn",
                "namespace": "agents",
                "arguments": "{}",
            },
            {
                "type": "local_shell_call",
                "id": "l",
                "call_id": "c4",
                "status": "completed",
                "action": {"type": "exec", "command": ["ls"], "env": {}, "timeout_ms": 5},
            },
            {"type": "custom_tool_call_output", "call_id": "c2", "output": "patched"},
            {"type": "function_call_output", "call_id": "c1", "output": "out"},
            {
                "type": "function_call_output",
                "call_id": "c3",
                "output": [
                    {"type": "input_text", "text": "a"},
                    {"type": "input_image", "image_url": "data:"},
                ],
            },
            {"type": "local_shell_call_output", "call_id": "c4", "output": {"ok": True}},
            {"type": "web_search_call", "id": "w"},
            said("developer", "Stop soon."),
        ],
    )
    assert body["messages"] == [
        {"role": "system", "content": "You are an agent.\n\nBe brief.\nBe kind."},
        {"role": "user", "content": "<environment_context>"},
        {"role": "user", "content": "go"},
        {
            "role": "assistant",
            "content": "look",
            "reasoning_content": "hm",
            "tool_calls": [
                call("{", id="c1"),
                call('{"input":"*** x"}', name="apply_patch", id="c2"),
                call("{}", name="agents__spawn", id="c3"),
                call('{"command":["ls"],"timeout_ms":5}', name="local_shell", id="c4"),
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "out"},
        {"role": "tool", "tool_call_id": "c2", "content": "patched"},
        {
            "role": "tool",
            "tool_call_id": "c3",
            "content": "a\n[image left out: the model reads text only]",
        },
        {"role": "tool", "tool_call_id": "c4", "content": '{"ok":true}'},
        {"role": "user", "content": "<system-reminder>\nStop soon.\n</system-reminder>"},
    ]
    names = [tool["function"]["name"] for tool in body["tools"]]
    assert names == ["bash", "apply_patch", "agents__spawn", "local_shell"]
    assert (
        'start: "x"'
        in orjson.loads(orjson.dumps(body["tools"][1]))["function"]["parameters"]["properties"][
            "input"
        ]["description"]
    )


def test_two_replies_in_a_row_stay_two() -> None:
    def said(text: str) -> Wire:
        return {"role": "assistant", "content": [{"type": "output_text", "text": text}]}

    thought = {
        "type": "reasoning",
        "summary": [],
        "content": [{"type": "reasoning_text", "text": "a"}],
    }
    messages = sent(input=[said("one"), said("two"), thought, said("three")])["messages"]
    assert [m["content"] for m in messages] == ["one", "two", "three"]
    assert messages[2]["reasoning_content"] == "a"


def test_what_an_engine_understands_passes() -> None:
    body = sent(
        input="go",
        reasoning={"effort": "low"},
        max_output_tokens=5,
        tool_choice="auto",
        parallel_tool_calls=False,
    )
    assert body["messages"] == [{"role": "user", "content": "go"}]
    assert (body["reasoning_effort"], body["max_tokens"]) == ("low", 5)
    assert (body["tool_choice"], body["parallel_tool_calls"]) == ("auto", False)


@pytest.mark.parametrize(
    "change",
    [
        {"previous_response_id": "resp_1"},
        {"conversation": "conv_1"},
        {"prompt": {"id": "p"}},
        {"background": True},
        {"text": {"format": {"type": "json_schema", "name": "x", "schema": {}}}},
        {"tools": [{"type": "web_search"}]},
        {"tools": [{"type": "code_interpreter"}]},
        {"tools": [{"type": "mcp", "server_label": "x"}]},
        {"tools": [{"type": "namespace", "name": "x", "tools": [{"type": "web_search"}]}]},
        {"tools": [{"type": "namespace", "name": "x"}]},
        {"tools": [{"type": "function"}]},
        {"tools": [{"type": "custom", "name": "exec", "description": "runs JavaScript"}]},
        {"tools": ["bash"]},
        {"tool_choice": "required"},
        {"tool_choice": {"type": "function", "name": "bash"}},
        {"input": []},
        {"input": None},
        {"input": ["go"]},
        {"input": [{"role": "tool", "content": "x"}]},
        {"input": [{"role": "user", "content": 5}]},
        {"input": [{"type": "item_reference", "id": "x"}]},
        {"input": [{"type": "function_call", "call_id": "c", "name": "bash"}]},
        {"input": [{"type": "function_call_output", "output": "x"}]},
        {"input": [{"type": "local_shell_call", "call_id": "c"}]},
        {"model": None},
        {"max_output_tokens": -1},
        {"instructions": 5},
    ],
    ids=lambda change: orjson.dumps(change).decode()[:60],
)
def test_what_cannot_be_captured_is_refused(change: Wire) -> None:
    with pytest.raises(Refused) as refused:
        read(**change)
    assert refused.value.status == 400


@pytest.mark.parametrize("stream", [False, True])
async def test_calls_come_back_in_the_form_of_their_tools(
    engine: Engine, client: Client, stream: bool
) -> None:
    engine.say = replying(
        {
            "tool_calls": [
                call('{"input": "*** Begin"}', name="apply_patch", id="c1"),
                call("{}", name="agents__spawn", id="c2"),
                call('{"command": ["ls"], "timeout_ms": 5}', name="local_shell", id="c3"),
                call("{]", name="bash", id="c4"),
            ]
        }
    )
    body = RESPONSES.ask(tools=False, stream=stream)
    body["tools"] = [BASH, PATCH, AGENTS, SHELL]
    _, reply = await RESPONSES.post(client, body)
    custom, spawn, shell, bash = reply["output"]
    assert (custom["type"], custom["name"]) == ("custom_tool_call", "apply_patch")
    assert (custom["call_id"], custom["input"]) == ("c1", "*** Begin")
    assert (spawn["type"], spawn["namespace"], spawn["name"]) == (
        "function_call",
        "agents",
        "spawn",
    )
    assert shell["type"] == "local_shell_call" and shell["action"]["command"] == ["ls"]
    assert (bash["type"], bash["arguments"]) == ("function_call", "{]")
    assert len({item["id"] for item in reply["output"]}) == 4


@pytest.mark.parametrize(
    "raw", ["*** Begin Patch", '{"input": 5}', '{"other": "x"}', '{"input": "x']
)
async def test_text_that_fits_no_custom_tool_is_not_made_up(
    engine: Engine, client: Client, raw: str
) -> None:
    """The guard has read it as a call's arguments, and as nothing else."""
    ask = {**RESPONSES.ask(tools=False), "tools": [PATCH, SHELL]}
    engine.say = replying({"tool_calls": [call(raw, name="apply_patch")]})
    _, reply = await RESPONSES.post(client, ask)
    assert reply["output"][0]["input"] == ""
    engine.say = replying({"tool_calls": [call(raw, name="local_shell")]})
    _, reply = await RESPONSES.post(client, ask)
    assert reply["output"][0]["action"]["command"] == []


@pytest.mark.parametrize("stream", [False, True])
async def test_reasoning_and_usage_reach_the_harness(
    engine: Engine, client: Client, stream: bool
) -> None:
    def change(reply: Wire) -> None:
        reply["usage"]["prompt_tokens_details"] = {"cached_tokens": 2}
        reply["usage"]["completion_tokens_details"] = {"reasoning_tokens": 1}

    engine.say = lambda body: ({"content": "x", "reasoning": "hm"}, "stop")
    engine.change = change
    _, reply = await RESPONSES.post(client, RESPONSES.ask(stream=stream, store=True))
    reasoning, _ = reply["output"]
    assert reasoning["summary"] == [{"type": "summary_text", "text": "hm"}]
    assert reply["store"] is False
    prompt, sampled, _ = engine.emitted[0]
    usage = reply["usage"]
    assert (usage["input_tokens"], usage["output_tokens"]) == (len(prompt), len(sampled))
    assert usage["total_tokens"] == len(prompt) + len(sampled)
    assert usage["input_tokens_details"]["cached_tokens"] == 2
    assert usage["output_tokens_details"]["reasoning_tokens"] == 1


async def test_openais_own_client(engine: Engine, client: Client) -> None:
    engine.say = replying({"content": "look", "tool_calls": [call('{"command": "ls"}')]})
    sdk = openai.AsyncOpenAI(
        api_key=client.session.key, base_url=f"{client.origin}/v1", max_retries=0
    )
    async with sdk:
        ask: Any = {"model": "m", "input": "go", "tools": [BASH]}
        whole = await sdk.responses.create(**ask)
        async with sdk.responses.stream(**ask) as stream:
            final = await stream.get_final_response()
        responses: list[Any] = [whole, final]
        for response in responses:
            assert response.output_text == "look"
            assert response.output[1].type == "function_call"
            assert response.output[1].arguments == '{"command": "ls"}'
        assert [model.id async for model in sdk.models.list()] == ["adapter.v1"]
        with pytest.raises(openai.PermissionDeniedError):
            await sdk.responses.create(model="m", input="hi")
        with pytest.raises(openai.BadRequestError, match="previous_response_id"):
            await sdk.responses.create(**ask, previous_response_id=whole.id)
        with pytest.raises(openai.NotFoundError):
            await sdk.responses.retrieve(whole.id)
    assert len(client.session.transcript().turns) == 2
