from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.core.gateway.interactive.conftest import (
    NOTICE,
    Wire,
    WordDoor,
    read_sse,
    splits,
    sse,
    through,
)

from harness_adapters.gateway.failures import UpstreamError
from harness_adapters.gateway.interactive.responses import Responses
from harness_adapters.gateway.interactive.sse import SseParser

GOOD, BAD = '{"cmd": "ls"}', '{"cmd": "forbidden"}'


def function(n: int, raw: str, **extra: Any) -> Wire:
    return {
        "id": f"fc_{n}",
        "call_id": f"call_{n}",
        "type": "function_call",
        "name": "shell",
        "arguments": raw,
        "status": "completed",
        **extra,
    }


def custom(n: int, input: str) -> Wire:
    return {
        "id": f"ct_{n}",
        "call_id": f"call_{n}",
        "type": "custom_tool_call",
        "name": "apply_patch",
        "input": input,
    }


def local(n: int, *words: str) -> Wire:
    action = {"type": "exec", "command": list(words)}
    return {"id": f"ls_{n}", "call_id": f"call_{n}", "type": "local_shell_call", "action": action}


def message(n: int, said: str) -> Wire:
    part = {"type": "output_text", "text": said, "annotations": [], "logprobs": []}
    return {
        "id": f"msg_{n}",
        "type": "message",
        "role": "assistant",
        "status": "completed",
        "content": [part],
    }


def reasoning(n: int, said: str) -> Wire:
    return {"id": f"rs_{n}", "type": "reasoning", "summary": [], "encrypted_content": said}


def life(n: int, item: Wire, step: int = 4) -> list[Wire]:
    """The events of one item, as an upstream sends them."""
    place: Wire = {"output_index": n, "item_id": item["id"]}
    middle: list[Wire] = []
    if item["type"] == "function_call":
        raw = item["arguments"]
        head = "response.function_call_arguments"
        middle = [
            {"type": f"{head}.delta", **place, "delta": raw[a : a + step]}
            for a in range(0, len(raw), step)
        ]
        middle.append({"type": f"{head}.done", **place, "arguments": raw})
        added = {**item, "arguments": "", "status": "in_progress"}
    elif item["type"] == "message":
        said = item["content"][0]["text"]
        part = item["content"][0]
        place["content_index"] = 0
        middle = [
            {"type": "response.content_part.added", **place, "part": {**part, "text": ""}},
            *({"type": "response.output_text.delta", **place, "delta": c} for c in said),
            {"type": "response.output_text.done", **place, "text": said},
            {"type": "response.content_part.done", **place, "part": part},
        ]
        added = {**item, "content": [], "status": "in_progress"}
    else:
        added = item
    return [
        {"type": "response.output_item.added", "output_index": n, "item": added},
        *middle,
        {"type": "response.output_item.done", "output_index": n, "item": item},
    ]


def numbered(events: list[Wire]) -> list[Wire]:
    return [{**event, "sequence_number": n} for n, event in enumerate(events)]


def reply(output: list[Wire], status: str = "completed") -> Wire:
    return {"id": "r1", "object": "response", "status": status, "output": output, "usage": None}


CREATED = {"type": "response.created", "response": reply([], "in_progress")}


def whole_stream(output: list[Wire], status: str = "completed", step: int = 4) -> list[Wire]:
    events = [CREATED]
    for n, item in enumerate(output):
        events += life(n, item, step)
    return numbered([*events, {"type": f"response.{status}", "response": reply(output, status)}])


async def passed(*events: Wire | str, door: WordDoor | None = None) -> list[Any]:
    stream = Responses().stream(door or WordDoor())
    return read_sse(await through(stream, [sse(*events)]))


def accumulate(events: list[Any]) -> Wire:
    """A strict client, which also checks that deltas, items and the last event agree."""
    assert [event["sequence_number"] for event in events] == list(range(len(events)))
    items: list[Wire] = []
    deltas = ""
    for event in events[:-1]:
        if event["type"] == "response.output_item.added":
            assert event["output_index"] == len(items)
            items.append(event["item"])
            deltas = ""
        elif event["type"].endswith(".delta"):
            assert event["output_index"] == len(items) - 1
            deltas += event["delta"]
        elif event["type"] == "response.output_item.done":
            items[-1] = event["item"]
            if event["item"]["type"] == "message":
                assert deltas == event["item"]["content"][0]["text"]
            elif event["item"]["type"] == "function_call":
                assert deltas == event["item"]["arguments"]
    final: Wire = events[-1]["response"]
    assert final["output"] == items
    return final


def without_new_ids(response: Wire) -> Wire:
    items = [
        {**item, "id": ""} if item["type"] == "message" else item for item in response["output"]
    ]
    return {**response, "output": items}


items_strategy = st.lists(
    st.one_of(
        st.text(min_size=1, max_size=8).map(lambda said: (message, said)),
        st.text(min_size=1, max_size=8).map(lambda said: (reasoning, said)),
        st.sampled_from([GOOD, BAD, "{}", '{"a": 1, "a": 2}']).map(lambda raw: (function, raw)),
        st.sampled_from(["forbidden", "*** Begin Patch"]).map(lambda raw: (custom, raw)),
        st.sampled_from(["forbidden", "ls"]).map(lambda raw: (local, raw)),
    ),
    max_size=6,
)


@given(
    items_strategy,
    st.sampled_from(["completed", "incomplete"]),
    st.lists(st.integers(0, 9000), max_size=10),
    st.integers(1, 9),
)
async def test_streamed_and_whole_replies_are_judged_alike(
    items: list[tuple[Any, str]], status: str, where: list[int], step: int
) -> None:
    output = [make(n, value) for n, (make, value) in enumerate(items)]
    one, other = WordDoor(), WordDoor()
    raw = sse(*whole_stream(output, status, step))
    got = accumulate(read_sse(await through(Responses().stream(one), splits(raw, where))))
    expected = await Responses().whole(reply(output, status), other)
    assert without_new_ids(got) == without_new_ids(expected)
    assert one.ruled == other.ruled


async def test_text_passes_at_once_and_all_after_a_call_waits() -> None:
    stream, parser = Responses().stream(WordDoor()), SseParser()

    async def feed(*events: Wire) -> list[Any]:
        out = b""
        for event in parser.feed(sse(*events)):
            out += await stream.feed(event)
        return read_sse(out)

    said = numbered([CREATED, *life(0, reasoning(0, "x")), *life(1, message(1, "hi"))])
    assert await feed(*said) == said
    assert await feed(*life(2, function(2, GOOD)), *life(3, message(3, "so"))) == []
    (alive,) = read_sse(stream.keep_alive())
    assert alive["type"] == "response.in_progress"
    output = [reasoning(0, "x"), message(1, "hi"), function(2, GOOD), message(3, "so")]
    released = await feed({"type": "response.completed", "response": reply(output)})
    assert released[0]["sequence_number"] == alive["sequence_number"] + 1
    assert [event.get("item", {}).get("id") for event in released if "item" in event] == (
        ["fc_2", "fc_2", "msg_3", "msg_3"]
    )


async def test_a_blocked_call_becomes_a_message_with_its_whole_life() -> None:
    got = await passed(*whole_stream([function(0, GOOD), function(1, BAD), function(2, GOOD)]))
    final = accumulate(got)
    assert [item["type"] for item in final["output"]] == (
        ["function_call", "message", "function_call"]
    )
    mine = [event["type"] for event in got if event.get("output_index") == 1]
    assert mine == [
        "response.output_item.added",
        "response.content_part.added",
        "response.output_text.delta",
        "response.output_text.done",
        "response.content_part.done",
        "response.output_item.done",
    ]
    assert final["output"][1]["content"][0]["text"] == NOTICE


async def test_the_last_event_may_leave_the_output_out_or_bring_more() -> None:
    door = WordDoor()
    events = [CREATED, *life(0, function(0, GOOD))]
    got = await passed(*events, {"type": "response.completed", "response": reply([])}, door=door)
    assert got[-1]["response"]["output"] == []
    assert got[-2]["item"]["arguments"] == GOOD
    more = reply([function(0, BAD), function(9, BAD)])
    got = await passed(*events, {"type": "response.completed", "response": more}, door=door)
    kinds = [(item["type"], item.get("arguments")) for item in got[-1]["response"]["output"]]
    assert kinds == [("function_call", GOOD), ("message", None)]


async def test_an_item_that_was_never_finished_is_not_forwarded() -> None:
    events = [CREATED, *life(0, function(0, GOOD))[:-1]]
    end = {"type": "response.incomplete", "response": reply([], "incomplete")}
    got = await passed(*events, end)
    assert "function_call" not in {e.get("item", {}).get("type") for e in got}
    assert got[-1]["type"] == "response.incomplete"


async def test_tools_of_the_server_pass_and_are_told_of() -> None:
    door = WordDoor()
    search = {"id": "ws", "type": "web_search_call", "status": "completed"}
    events = whole_stream([search, message(1, "so")])
    assert await passed(*events, door=door) == events
    assert set(door.server_tools) == {"web_search_call"}


UNSAFE = [
    pytest.param([CREATED, *life(0, function(0, GOOD))], id="cut after a call"),
    pytest.param([CREATED, *life(0, function(0, GOOD))[:2]], id="cut inside a call"),
    pytest.param([CREATED, *life(0, message(0, "a"))], id="cut in text"),
    pytest.param([CREATED, *life(0, function(0, GOOD)), "{oops"], id="malformed"),
    pytest.param(
        [CREATED, *life(0, {"id": "x", "type": "robot_call", "do": "it"})], id="unknown call"
    ),
    pytest.param([CREATED, life(0, function(0, GOOD))[1]], id="arguments without an item"),
    pytest.param(
        [CREATED, {"type": "response.output_item.done", "item": function(0, GOOD)}],
        id="item without a place",
    ),
    pytest.param([{**CREATED, "response": {"type": "tool_use"}}], id="a call for a response"),
    pytest.param([CREATED, {"type": "tool_use", "input": {}}], id="a call for an event"),
    pytest.param(
        [CREATED, {"type": "response.new", "call": {"type": "function_call"}}], id="unknown event"
    ),
    pytest.param(
        [{**CREATED, "response": reply([function(0, GOOD)])}], id="call in the first event"
    ),
    pytest.param(
        [
            CREATED,
            *life(0, message(0, "a"))[:1],
            {
                "type": "response.output_item.done",
                "output_index": 0,
                "item": {"type": "message", "content": [{"type": "tool_use", "id": 1}]},
            },
        ],
        id="call inside a message",
    ),
    pytest.param(
        [
            CREATED,
            life(0, function(0, GOOD))[0],
            {**life(0, message(0, "a"))[-1], "output_index": 0},
        ],
        id="call turns into text",
    ),
]


@pytest.mark.parametrize("events", UNSAFE)
async def test_what_cannot_be_judged_ends_in_a_failure_and_no_call(events: list[Any]) -> None:
    got = await passed(*events)
    if got[0]["type"] == "error":
        assert len(got) == 1
    else:
        assert got[-1]["type"] == "response.failed"
        assert got[-1]["response"]["error"]["code"] == "server_error"
    assert "function_call" not in json.dumps(got[:-1])


async def test_a_failure_of_the_upstream_passes_and_brings_no_call() -> None:
    failed = {"type": "response.failed", "response": reply([function(0, GOOD)], "failed")}
    got = await passed(CREATED, *life(0, function(0, GOOD)), failed)
    assert [event["type"] for event in got] == ["response.created", "response.failed"]
    assert got[-1]["response"]["output"] == []


async def test_calls_of_every_kind_are_judged_by_what_they_would_do() -> None:
    door = WordDoor()
    patch = {"id": "p", "type": "apply_patch_call", "operation": {"path": "forbidden"}}
    output = [local(0, "ls"), custom(1, "text"), patch]
    final = accumulate(await passed(*whole_stream(output), door=door))
    assert [item["type"] for item in final["output"]] == (
        ["local_shell_call", "custom_tool_call", "message"]
    )
    assert [call.name for call in door.ruled] == ["local_shell", "apply_patch", "apply_patch"]


def test_tools_inside_namespaces_and_found_by_search_are_declared() -> None:
    asked = Responses().asked(
        {
            "instructions": "be good",
            "tools": [
                {"type": "function", "name": "shell"},
                {"type": "namespace", "name": "mcp", "tools": [{"type": "function", "name": "q"}]},
                {"type": "local_shell"},
                {"type": "web_search"},
            ],
            "input": [
                {"role": "user", "content": [{"type": "input_text", "text": "hello"}]},
                {"type": "tool_search_output", "tools": [{"type": "function", "name": "late"}]},
                {"type": "function_call_output", "call_id": "c", "output": "done"},
            ],
        }
    )
    assert set(asked.tools) == {"shell", "q", "local_shell", "late"}
    assert [m["role"] for m in asked.messages] == ["system", "user", "tool", "tool"]


async def test_a_whole_reply_in_an_unjudgeable_form_is_refused() -> None:
    for output in ([{"type": "robot_call", "id": "x"}], ["x"], None):
        with pytest.raises(UpstreamError):
            await Responses().whole({"output": output}, WordDoor())
