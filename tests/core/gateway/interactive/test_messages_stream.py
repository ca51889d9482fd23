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
from harness_adapters.gateway.interactive.messages import Messages
from harness_adapters.gateway.interactive.sse import SseParser

START: Wire = {
    "type": "message_start",
    "message": {"id": "m1", "type": "message", "role": "assistant", "content": [], "model": "m"},
}
STOP = {"type": "message_stop"}
GOOD, BAD = {"command": "ls"}, {"command": "forbidden"}


def start(index: int, block: Wire) -> Wire:
    return {"type": "content_block_start", "index": index, "content_block": block}


def delta(index: int, **fields: Any) -> Wire:
    return {"type": "content_block_delta", "index": index, "delta": fields}


def stop(index: int) -> Wire:
    return {"type": "content_block_stop", "index": index}


def closing(reason: str, **extra: Any) -> Wire:
    return {"type": "message_delta", "delta": {"stop_reason": reason, **extra}, "usage": {}}


def text(index: int, said: str) -> list[Wire]:
    return [
        start(index, {"type": "text", "text": ""}),
        delta(index, type="text_delta", text=said),
        stop(index),
    ]


def thinking(index: int, said: str) -> list[Wire]:
    return [
        start(index, {"type": "thinking", "thinking": "", "signature": ""}),
        delta(index, type="thinking_delta", thinking=said),
        delta(index, type="signature_delta", signature="sig/+="),
        stop(index),
    ]


def tool(index: int, input: Wire, *, id: str = "", step: int = 5) -> list[Wire]:
    raw = json.dumps(input) if input else ""
    parts = [raw[n : n + step] for n in range(0, len(raw), step)] or [""]
    block = {"type": "tool_use", "id": id or f"t{index}", "name": "bash", "input": {}}
    return [
        start(index, block),
        *(delta(index, type="input_json_delta", partial_json=part) for part in parts),
        stop(index),
    ]


def accumulate(events: list[Any]) -> Wire:
    """A strict client: blocks one after another, indexes without gaps."""
    assert events[0]["type"] == "message_start" and events[-1] == STOP
    blocks: list[Wire] = []
    message: Wire = {}
    is_open = False
    for event in events[1:-1]:
        if event["type"] == "content_block_start":
            assert not is_open and event["index"] == len(blocks)
            blocks.append(dict(event["content_block"]))
            raw, is_open = "", True
        elif event["type"] == "content_block_delta":
            assert is_open and event["index"] == len(blocks) - 1
            for key, value in event["delta"].items():
                if key == "partial_json":
                    raw += value
                elif key != "type":
                    blocks[-1][key] = (blocks[-1].get(key) or "") + value
        elif event["type"] == "content_block_stop":
            is_open = False
            if blocks[-1]["type"] == "tool_use":
                blocks[-1]["input"] = json.loads(raw)
        elif event["type"] == "message_delta":
            message |= event["delta"]
    return {**message, "content": blocks}


async def passed(*events: Wire | str, door: WordDoor | None = None) -> list[Any]:
    stream = Messages().stream(door or WordDoor())
    return read_sse(await through(stream, [sse(*events)]))


blocks_strategy = st.lists(
    st.one_of(
        st.text(min_size=1, max_size=8).map(lambda said: ("text", said)),
        st.text(min_size=1, max_size=8).map(lambda said: ("thinking", said)),
        st.sampled_from([GOOD, BAD, {}, {"a": [1, {"b": None}]}]).map(lambda i: ("tool", i)),
    ),
    max_size=6,
)


@given(
    blocks_strategy,
    st.sampled_from(["end_turn", "tool_use", "max_tokens"]),
    st.lists(st.integers(0, 5000), max_size=10),
    st.integers(1, 9),
)
async def test_streamed_and_whole_replies_are_judged_alike(
    blocks: list[tuple[str, Any]], reason: str, where: list[int], step: int
) -> None:
    events: list[Wire | str] = [START, {"type": "ping"}]
    content: list[Wire] = []
    for n, (kind, value) in enumerate(blocks):
        if kind == "text":
            events += text(n, value)
            content.append({"type": "text", "text": value})
        elif kind == "thinking":
            events += thinking(n, value)
            content.append({"type": "thinking", "thinking": value, "signature": "sig/+="})
        else:
            events += tool(n, value, step=step)
            content.append({"type": "tool_use", "id": f"t{n}", "name": "bash", "input": value})
    results = [{"type": "dangerous_tool_use", "tool_use_id": f"t{n}"} for n in range(len(blocks))]
    events += [closing(reason, safeguard_results=results), STOP]
    one, other = WordDoor(), WordDoor()
    out = await through(Messages().stream(one), splits(sse(*events), where))
    whole = {"content": content, "stop_reason": reason, "safeguard_results": results}
    got = [event for event in read_sse(out) if event["type"] != "ping"]
    assert accumulate(got) == await Messages().whole(whole, other)
    assert [json.loads(c.raw) for c in one.ruled] == [json.loads(c.raw) for c in other.ruled]


async def test_text_passes_at_once_and_all_after_a_call_waits() -> None:
    stream, parser = Messages().stream(WordDoor()), SseParser()

    async def feed(*events: Wire) -> list[Any]:
        out = b""
        for event in parser.feed(sse(*events)):
            out += await stream.feed(event)
        return read_sse(out)

    said = [START, *thinking(0, "hm"), *text(1, "I will")]
    assert await feed(*said) == said
    assert await feed(*tool(2, GOOD), *text(3, "done")) == []
    assert read_sse(stream.keep_alive()) == [{"type": "ping"}]
    assert await feed(closing("tool_use")) == []
    released = await feed(STOP)
    assert released == [*tool(2, GOOD, step=99), *text(3, "done"), closing("tool_use"), STOP]


async def test_a_blocked_call_becomes_text_in_its_place() -> None:
    got = accumulate(
        await passed(
            START, *tool(0, GOOD), *tool(1, BAD), *tool(2, GOOD), closing("tool_use"), STOP
        )
    )
    kinds = [(block["type"], block.get("id")) for block in got["content"]]
    assert kinds == [("tool_use", "t0"), ("text", None), ("tool_use", "t2")]
    assert got["content"][1]["text"] == NOTICE
    assert got["stop_reason"] == "tool_use"


async def test_with_no_call_left_the_turn_ends() -> None:
    got = accumulate(await passed(START, *tool(0, BAD), closing("tool_use"), STOP))
    assert got["stop_reason"] == "end_turn"


async def test_input_in_the_start_event_is_judged() -> None:
    door = WordDoor()
    block = {"type": "tool_use", "id": "t0", "name": "bash", "input": BAD}
    events = await passed(START, start(0, block), stop(0), closing("tool_use"), STOP, door=door)
    assert accumulate(events)["content"] == [{"type": "text", "text": NOTICE}]
    assert json.loads(door.ruled[0].raw) == BAD


async def test_indexes_of_the_upstream_may_have_gaps() -> None:
    got = accumulate(await passed(START, *text(1, "a"), *tool(5, GOOD), closing("tool_use"), STOP))
    assert [block["type"] for block in got["content"]] == ["text", "tool_use"]


async def test_a_call_cut_by_the_output_limit_is_not_forwarded() -> None:
    """RF10."""
    cut = [*tool(0, GOOD)[:-2], stop(0)]
    got = accumulate(await passed(START, *cut, closing("max_tokens"), STOP))
    assert got["content"] == [{"type": "text", "text": NOTICE}]
    assert got["stop_reason"] == "max_tokens"


async def test_tools_of_the_server_pass_and_are_told_of() -> None:
    door = WordDoor()
    search = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}
    found = {"type": "web_search_tool_result", "tool_use_id": "s", "content": []}
    events: list[Wire | str] = [
        START,
        start(0, search),
        delta(0, type="input_json_delta", partial_json='{"query": "x"}'),
        stop(0),
        start(1, found),
        stop(1),
        *text(2, "so"),
        closing("end_turn"),
        STOP,
    ]
    assert await passed(*events, door=door) == events
    assert door.server_tools == ["web_search"]


UNSAFE = [
    pytest.param([START, *tool(0, GOOD)], id="cut after a call"),
    pytest.param([START, *tool(0, GOOD)[:2]], id="cut inside a call"),
    pytest.param([START, *tool(0, GOOD), closing("tool_use")], id="cut before the end"),
    pytest.param([START, *tool(0, GOOD), STOP], id="no stop reason"),
    pytest.param([START, *text(0, "a")], id="cut in text"),
    pytest.param([START, *tool(0, GOOD), "{oops"], id="malformed"),
    pytest.param([START, start(0, {"type": "client_tool_use", "name": "x"})], id="unknown block"),
    pytest.param(
        [START, start(0, {"type": "text"}), delta(0, type="input_json_delta", partial_json="{}")],
        id="input of a text block",
    ),
    pytest.param([START, *tool(0, GOOD)[:1], {"index": 0, "delta": {}}], id="event without type"),
    pytest.param([START, {"type": "x", "delta": tool(0, GOOD)[1]["delta"]}], id="new delta"),
    pytest.param([START, delta(3, type="text_delta", text="a")], id="block not open"),
    pytest.param([START, {"type": "x", "tool": {"type": "tool_use", "id": "1"}}], id="new event"),
    pytest.param(
        [{**START, "message": {"content": [{"type": "tool_use", "id": "1"}]}}], id="in the start"
    ),
]


@pytest.mark.parametrize("events", UNSAFE)
async def test_what_cannot_be_judged_ends_in_an_error_and_no_call(events: list[Any]) -> None:
    got = await passed(*events)
    assert got[-1]["type"] == "error" and got[-1]["error"]["type"] == "api_error"
    assert STOP not in got
    assert '"tool_use"' not in json.dumps(got)


async def test_an_error_of_the_upstream_passes_and_nothing_after_it() -> None:
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}
    got = await passed(START, *tool(0, GOOD), error, closing("tool_use"), STOP)
    assert got == [START, error]


async def test_new_events_without_a_call_pass() -> None:
    new = {"type": "content_block_note", "note": "hello"}
    events: list[Wire | str] = [START, new, *text(0, "a"), closing("end_turn"), STOP]
    assert await passed(*events) == events


async def test_a_whole_reply_in_an_unjudgeable_form_is_refused() -> None:
    for content in ([{"type": "new_tool_use", "input": {}}], ["x"], None):
        with pytest.raises(UpstreamError):
            await Messages().whole({"content": content}, WordDoor())
