"""Three dialects over HTTP: the stream says what the reply in one piece says."""

from __future__ import annotations

import copy
import json
from typing import Any

import aiohttp
import pytest

from harness_adapters.serve.tokens import logprobs
from harness_adapters.types import Task

Json = dict[str, Any]
IDS = {"return_token_ids": True, "logprobs": True}


async def post(http: aiohttp.ClientSession, path: str, body: Json) -> Json:
    async with http.post(path, json=body) as response:
        assert response.status == 200, await response.text()
        found: Json = await response.json()
        return found


async def events(http: aiohttp.ClientSession, path: str, body: Json) -> list[Json]:
    async with http.post(path, json=body | {"stream": True}) as response:
        assert response.status == 200, await response.text()
        assert response.content_type == "text/event-stream"
        text = await response.text()
    found = []
    for block in text.strip().split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.split("\n"))
        if fields["data"] != "[DONE]":
            event = json.loads(fields["data"])
            assert fields.get("event", event.get("type")) == event.get("type")
            found.append(event)
    return found


def without_names(reply: Json) -> Json:
    """A reply without what is new in each: ids and times."""
    gone = ("id", "call_id", "created", "created_at", "item_id")

    def strip(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: strip(inner) for key, inner in value.items() if key not in gone}
        return [strip(inner) for inner in value] if isinstance(value, list) else value

    stripped: Json = strip(reply)
    return stripped


# --- bodies ---------------------------------------------------------------------------------------


def chat_body(task: Task, tools: list[Json], **more: Any) -> Json:
    return {
        "model": "m",
        "messages": [
            {"role": "system", "content": "Help."},
            {"role": "user", "content": [{"type": "text", "text": task.instruction}]},
        ],
        "tools": tools,
        **more,
    }


def messages_body(task: Task, tools: list[Json], **more: Any) -> Json:
    declared = [
        {"name": t["function"]["name"], "input_schema": t["function"]["parameters"]} for t in tools
    ]
    return {
        "model": "m",
        "max_tokens": 100,
        "system": [{"type": "text", "text": "Help.", "cache_control": {"type": "ephemeral"}}],
        "messages": [{"role": "user", "content": task.instruction}],
        "tools": declared,
        **more,
    }


def responses_body(task: Task, tools: list[Json], **more: Any) -> Json:
    declared = [{"type": "function", **tool["function"]} for tool in tools]
    content = [{"type": "input_text", "text": task.instruction}]
    return {
        "model": "m",
        "instructions": "Help.",
        "input": [{"type": "message", "role": "user", "content": content}],
        "tools": [*declared, {"type": "web_search"}],
        **more,
    }


# --- streams put together again -------------------------------------------------------------------


def joined_chat(chunks: list[Json]) -> Json:
    reply: Json = {"text": "", "calls": [], "ids": [], "logprobs": [], "finish": None}
    for chunk in chunks:
        reply["usage"] = chunk.get("usage") or reply.get("usage")
        reply.setdefault("prompt", chunk.get("prompt_token_ids"))
        for choice in chunk["choices"]:
            reply["text"] += choice["delta"].get("content") or ""
            for call in choice["delta"].get("tool_calls", []):
                if call["index"] == len(reply["calls"]):
                    reply["calls"].append(copy.deepcopy(call["function"]))
                else:
                    reply["calls"][call["index"]]["arguments"] += call["function"]["arguments"]
            reply["ids"] += choice["token_ids"] or []
            reply["logprobs"] += (choice["logprobs"] or {}).get("content", [])
            reply["finish"] = choice["finish_reason"] or reply["finish"]
    return reply


def joined_messages(found: list[Json]) -> Json:
    blocks: list[Json] = []
    message: Json = {}
    for event in found:
        match event["type"]:
            case "message_start":
                message = dict(event["message"])
            case "content_block_start":
                blocks.append(dict(event["content_block"], raw=""))
                assert event["index"] == len(blocks) - 1
            case "content_block_delta":
                delta = event["delta"]
                if delta["type"] == "text_delta":
                    blocks[-1]["text"] += delta["text"]
                else:
                    blocks[-1]["raw"] += delta["partial_json"]
            case "message_delta":
                message |= event["delta"]
                message["usage"] = message["usage"] | event["usage"]
                known = ("type", "delta", "usage")
                message |= {key: value for key, value in event.items() if key not in known}
    assert found[-1]["type"] == "message_stop"
    for block in blocks:
        raw = block.pop("raw")
        if block["type"] == "tool_use":
            block["input"] = json.loads(raw)
    return message | {"content": blocks}


# --- what must hold -------------------------------------------------------------------------------

PLAY = pytest.mark.parametrize("play", ["oracle", "nop", "text", "loop"])


@PLAY
async def test_chat_stream_equals_reply(
    engine: Any, repair: Task, tools: list[Json], play: str
) -> None:
    body = chat_body(repair, tools, **IDS)
    async with engine([repair], play) as http:
        reply = await post(http, "/v1/chat/completions", body)
        options = {"stream_options": {"include_usage": True}}
        streamed = joined_chat(await events(http, "/v1/chat/completions", body | options))
    choice = reply["choices"][0]
    assert streamed["text"] == (choice["message"]["content"] or "")
    assert streamed["calls"] == [call["function"] for call in choice["message"]["tool_calls"]]
    assert streamed["ids"] == choice["token_ids"]
    assert streamed["logprobs"] == choice["logprobs"]["content"]
    assert streamed["prompt"] == reply["prompt_token_ids"]
    assert streamed["finish"] == choice["finish_reason"]
    assert streamed["usage"] == reply["usage"]


@PLAY
async def test_messages_stream_equals_reply(
    engine: Any, repair: Task, tools: list[Json], play: str
) -> None:
    body = messages_body(repair, tools, **IDS)
    async with engine([repair], play) as http:
        reply = await post(http, "/v1/messages", body)
        streamed = joined_messages(await events(http, "/v1/messages", body))
    assert without_names(streamed) == without_names(reply)
    assert reply["token_ids"]


@PLAY
async def test_responses_stream_equals_reply(
    engine: Any, repair: Task, tools: list[Json], play: str
) -> None:
    body = responses_body(repair, tools, **IDS)
    async with engine([repair], play) as http:
        reply = await post(http, "/v1/responses", body)
        found = await events(http, "/v1/responses", body)
    assert [event["sequence_number"] for event in found] == list(range(len(found)))
    done = [e["item"] for e in found if e["type"] == "response.output_item.done"]
    final = found[-1]["response"]
    assert found[-1]["type"] == "response.completed"
    assert without_names({"o": done}) == without_names({"o": final["output"]})
    assert without_names(final) == without_names(reply)
    for kind, field in (("output_text", "text"), ("function_call_arguments", "arguments")):
        deltas = "".join(e["delta"] for e in found if e["type"] == f"response.{kind}.delta")
        assert deltas == "".join(e[field] for e in found if e["type"] == f"response.{kind}.done")


async def test_ids_are_those_of_the_tokenizer(
    engine: Any, repair: Task, pi_tools: list[Json]
) -> None:
    async with engine([repair]) as http:
        reply = await post(http, "/v1/chat/completions", chat_body(repair, pi_tools, **IDS))
    choice, usage = reply["choices"][0], reply["usage"]
    entries = choice["logprobs"]["content"]
    assert usage["completion_tokens"] == len(choice["token_ids"]) == len(entries)
    assert usage["prompt_tokens"] == len(reply["prompt_token_ids"])
    assert [entry["logprob"] for entry in entries] == logprobs(choice["token_ids"])
    spelled = b"".join(bytes(entry["bytes"]) for entry in entries).decode()
    message = choice["message"]
    arguments = message["tool_calls"][0]["function"]["arguments"]
    assert spelled == (
        f"{message['content']}\n<tool_call>\n"
        f'{{"name": "read", "arguments": {arguments}}}\n</tool_call><|im_end|>'
    )


async def test_ids_come_only_when_asked_for(
    engine: Any, repair: Task, pi_tools: list[Json]
) -> None:
    async with engine([repair]) as http:
        reply = await post(http, "/v1/chat/completions", chat_body(repair, pi_tools))
        named = chat_body(repair, pi_tools, logprobs=True, return_tokens_as_token_ids=True)
        entries = (await post(http, "/v1/chat/completions", named))["choices"][0]["logprobs"]
    assert reply["prompt_token_ids"] is None
    assert reply["choices"][0]["token_ids"] is None
    assert reply["choices"][0]["logprobs"] is None
    assert all(entry["token"].startswith("token_id:") for entry in entries["content"])


async def test_all_dialects_say_the_same(engine: Any, qa: Task, pi_tools: list[Json]) -> None:
    async with engine([qa]) as http:
        chat = await post(http, "/v1/chat/completions", chat_body(qa, pi_tools, **IDS))
        messages = await post(http, "/v1/messages", messages_body(qa, pi_tools, **IDS))
        responses = await post(http, "/v1/responses", responses_body(qa, pi_tools, **IDS))
    assert chat["choices"][0]["token_ids"] == messages["token_ids"] == responses["token_ids"]
    assert chat["prompt_token_ids"] == messages["prompt_token_ids"]
    assert chat["prompt_token_ids"] == responses["prompt_token_ids"]


class TestSessions:
    """A session goes on in each dialect's own history, step by step, to a final text."""

    async def test_messages(self, engine: Any, repair: Task, pi_tools: list[Json]) -> None:
        body = messages_body(repair, pi_tools, **IDS)
        exact: list[int] = []
        async with engine([repair]) as http:
            while True:
                reply = await post(http, "/v1/messages", body)
                assert reply["prompt_token_ids"][: len(exact)] == exact
                exact = reply["prompt_token_ids"] + reply["token_ids"]
                uses = [block for block in reply["content"] if block["type"] == "tool_use"]
                if not uses:
                    break
                results = [
                    {"type": "tool_result", "tool_use_id": use["id"], "content": "fine"}
                    for use in uses
                ]
                body["messages"] += [
                    {"role": "assistant", "content": reply["content"]},
                    {"role": "user", "content": results},
                ]
        assert len(body["messages"]) == 1 + 2 * 3
        assert reply["stop_reason"] == "end_turn"

    async def test_responses(self, engine: Any, repair: Task, pi_tools: list[Json]) -> None:
        body = responses_body(repair, pi_tools, **IDS)
        exact: list[int] = []
        async with engine([repair]) as http:
            while True:
                reply = await post(http, "/v1/responses", body)
                assert reply["prompt_token_ids"][: len(exact)] == exact
                exact = reply["prompt_token_ids"] + reply["token_ids"]
                calls = [item for item in reply["output"] if item["type"] == "function_call"]
                if not calls:
                    break
                results = [
                    {"type": "function_call_output", "call_id": c["call_id"], "output": "fine"}
                    for c in calls
                ]
                body["input"] += [*reply["output"], *results]
        assert sum(item["type"] == "function_call" for item in body["input"]) == 3


class TestRoutes:
    async def test_models_and_health(self, engine: Any, repair: Task) -> None:
        async with engine([repair]) as http:
            async with http.get("/health") as response:
                assert response.status == 200
            async with http.get("/v1/models") as response:
                assert [card["id"] for card in (await response.json())["data"]] == ["scripted"]

    @pytest.mark.parametrize(
        "body",
        [
            b"",
            b"[]",
            b"{",
            b"\xff",
            b'{"messages": 1}',
            b'{"messages": [1]}',
            b'{"messages": [{"role": "assistant", "tool_calls": [1]}]}',
            b'{"messages": [], "tools": "all"}',
        ],
    )
    async def test_nonsense_is_refused(self, engine: Any, repair: Task, body: bytes) -> None:
        path = "/v1/chat/completions"
        async with engine([repair]) as http, http.post(path, data=body) as response:
            assert response.status == 400
            assert (await response.json())["error"]["message"]

    async def test_a_temperature_that_makes_no_sense(
        self, engine: Any, repair: Task, pi_tools: list[Json]
    ) -> None:
        body = chat_body(repair, pi_tools, temperature="warm")
        path = "/v1/chat/completions"
        async with engine([repair]) as http, http.post(path, json=body) as response:
            assert response.status == 400

    @pytest.mark.parametrize(
        ("more", "status"),
        [
            ({}, 200),
            ({"model": "other"}, 404),
            ({"stream_options": {"include_usage": True}}, 400),
            ({"tools": []}, 400),
            ({"tools": None, "tool_choice": "auto"}, 400),
            ({"max_tokens": 10**9}, 400),
        ],
    )
    async def test_strict_refuses_what_vllm_refuses(
        self, engine: Any, repair: Task, pi_tools: list[Json], more: Json, status: int
    ) -> None:
        body = chat_body(repair, pi_tools) | {"model": "scripted"} | more
        path = "/v1/chat/completions"
        async with (
            engine([repair], strict=True) as http,
            http.post(path, json=body) as response,
        ):
            assert response.status == status
        async with engine([repair]) as http, http.post(path, json=body) as response:
            assert response.status == 200
