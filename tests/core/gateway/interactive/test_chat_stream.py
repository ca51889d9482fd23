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
from harness_adapters.gateway.interactive.chat import ChatCompletions

HEAD = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m"}
GOOD, BAD = '{"command": "ls"}', '{"command": "forbidden"}'


def chunk(delta: Wire, finish: str | None = None, **extra: Any) -> Wire:
    return {**HEAD, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}], **extra}


def call(id: str, raw: str, name: str = "bash") -> Wire:
    return {"id": id, "type": "function", "function": {"name": name, "arguments": raw}}


def part(index: int | None, **fields: Any) -> Wire:
    delta = {"tool_calls": [{**({} if index is None else {"index": index}), **fields}]}
    return chunk(delta)


async def passed(*events: Wire | str, door: WordDoor | None = None) -> list[Any]:
    stream = ChatCompletions().stream(door or WordDoor())
    return read_sse(await through(stream, [sse(*events)]))


def accumulate(events: list[Any]) -> Wire:
    """A strict client: whole calls, indexes without gaps, nothing after the finish."""
    assert events[-1] == "[DONE]"
    message: Wire = {"role": None, "content": None}
    calls: list[Wire] = []
    finish = None
    for event in events[:-1]:
        for choice in event["choices"]:
            assert finish is None
            finish = choice["finish_reason"]
            for key, value in choice["delta"].items():
                if key == "tool_calls":
                    for one in value:
                        assert one.pop("index") == len(calls)
                        calls.append(one)
                elif value is not None:
                    message[key] = (message.get(key) or "") + value
    if calls:
        message["tool_calls"] = calls
    return {"message": message, "finish_reason": finish}


calls_strategy = st.lists(
    st.tuples(st.sampled_from([GOOD, BAD, "{}", "", '{"a": 1, "a": 2}', '{"cut']), st.booleans()),
    max_size=4,
)


@given(
    st.text(max_size=10),
    st.text(max_size=10),
    calls_strategy,
    st.sampled_from(["stop", "tool_calls", "length"]),
    st.lists(st.integers(0, 3000), max_size=10),
    st.integers(1, 5),
)
async def test_streamed_and_whole_replies_are_judged_alike(
    text: str,
    thought: str,
    calls: list[tuple[str, bool]],
    finish: str,
    where: list[int],
    step: int,
) -> None:
    wire_calls = [call(f"call_{n}", raw) for n, (raw, _) in enumerate(calls)]
    message: Wire = {"role": "assistant", "content": text or None}
    if thought:
        message["reasoning_content"] = thought
    whole = {"choices": [{"index": 0, "message": message, "finish_reason": finish}]}
    if calls:
        message["tool_calls"] = wire_calls
    events: list[Wire | str] = [chunk({"role": "assistant", "content": None})]
    events += [chunk({"reasoning_content": thought})] if thought else []
    events += [chunk({"content": letter}) for letter in text]
    for index, (raw, at_once) in enumerate(calls):
        if at_once:
            events.append(part(index, **wire_calls[index]))
            continue
        events.append(part(index, id=f"call_{index}", type="function", function={"name": "bash"}))
        for start in range(0, len(raw), step):
            events.append(part(index, function={"arguments": raw[start : start + step]}))
    events += [chunk({}, finish), {**HEAD, "choices": [], "usage": {"total_tokens": 3}}, "[DONE]"]
    one, other = WordDoor(), WordDoor()
    out = await through(ChatCompletions().stream(one), splits(sse(*events), where))
    (expected,) = (await ChatCompletions().whole(whole, other))["choices"]
    del expected["index"]
    assert accumulate(read_sse(out)) == expected
    assert one.ruled == other.ruled


async def test_text_passes_at_once_and_calls_wait() -> None:
    stream = ChatCompletions().stream(WordDoor())
    from harness_adapters.gateway.interactive.sse import SseParser

    parser = SseParser()

    async def feed(event: Wire) -> list[Any]:
        (parsed,) = parser.feed(sse(event))
        return read_sse(await stream.feed(parsed))

    assert await feed(chunk({"content": "hi"})) == [chunk({"content": "hi"})]
    assert await feed(part(0, **call("a", GOOD))) == []
    assert await feed(chunk({"content": "more"})) == [chunk({"content": "more"})]
    assert read_sse(stream.keep_alive()) == [chunk({})]
    released = await feed(chunk({}, "tool_calls"))
    assert released == [part(0, **call("a", GOOD)), chunk({}, "tool_calls")]


async def test_a_blocked_call_leaves_its_siblings_and_their_ids() -> None:
    got = accumulate(
        await passed(
            chunk({"content": "I"}),
            part(0, **call("a", GOOD)),
            part(1, **call("b", BAD)),
            part(2, **call("c", GOOD)),
            chunk({}, "tool_calls"),
            "[DONE]",
        )
    )
    assert [one["id"] for one in got["message"]["tool_calls"]] == ["a", "c"]
    assert got["message"]["content"] == f"I\n\n{NOTICE}"
    assert got["finish_reason"] == "tool_calls"


async def test_with_no_call_left_the_message_ends_as_text() -> None:
    got = accumulate(await passed(part(0, **call("a", BAD)), chunk({}, "tool_calls"), "[DONE]"))
    assert got == {"message": {"role": None, "content": NOTICE}, "finish_reason": "stop"}


async def test_a_call_cut_by_the_output_limit_is_not_forwarded() -> None:
    """RF10."""
    got = accumulate(
        await passed(
            part(0, **call("a", GOOD)),
            part(1, **call("b", '{"x": "')),
            chunk({}, "length"),
            "[DONE]",
        )
    )
    assert [one["id"] for one in got["message"]["tool_calls"]] == ["a"]
    assert got["finish_reason"] == "length"


async def test_empty_arguments_of_tools_without_parameters_are_an_object() -> None:
    """RF09."""
    got = accumulate(
        await passed(part(0, id="a", function={"name": "now"}), chunk({}, "stop"), "[DONE]")
    )
    assert got["message"]["tool_calls"] == [call("a", "{}", "now")]
    assert got["finish_reason"] == "tool_calls"


@pytest.mark.parametrize("index", [0, None])
async def test_calls_that_share_an_index_or_have_none_stay_apart(index: int | None) -> None:
    got = accumulate(
        await passed(
            part(index, **call("a", GOOD)),
            part(index, **call("b", BAD)),
            part(index, **call("c", "{}")),
            chunk({}, "tool_calls"),
            "[DONE]",
        )
    )
    assert [one["id"] for one in got["message"]["tool_calls"]] == ["a", "c"]


async def test_calls_without_an_id_of_their_own_get_one() -> None:
    whole = {
        "choices": [
            {
                "message": {"content": None, "tool_calls": [call("a", GOOD), call("a", "{}")]},
                "finish_reason": "tool_calls",
            }
        ]
    }
    got = await ChatCompletions().whole(whole, WordDoor())
    ids = [one["id"] for one in got["choices"][0]["message"]["tool_calls"]]
    assert ids[0] == "a" and len(set(ids)) == 2


async def test_a_name_in_two_deltas_is_sent_whole_and_extra_fields_stay() -> None:
    door = WordDoor()
    extra = {"google": {"thought_signature": "s"}}
    events = await passed(
        part(0, id="a", type="function", function={"name": "ba"}, extra_content=extra),
        part(0, function={"name": "sh", "arguments": GOOD}),
        chunk({}, "tool_calls"),
        "[DONE]",
        door=door,
    )
    assert accumulate(events)["message"]["tool_calls"] == [
        {**call("a", GOOD), "extra_content": extra}
    ]
    assert door.ruled[0].name == "bash"


async def test_custom_tools_are_judged_by_their_text() -> None:
    door = WordDoor()
    custom = {"id": "a", "type": "custom", "custom": {"name": "patch", "input": "forbidden"}}
    got = accumulate(await passed(part(0, **custom), chunk({}, "tool_calls"), "[DONE]", door=door))
    assert got["message"]["content"] == NOTICE
    assert json.loads(door.ruled[0].raw) == {"input": "forbidden"}


UNSAFE = [
    pytest.param([chunk({"function_call": {"name": "bash"}})], id="legacy call"),
    pytest.param([chunk({"Tool_Calls": [call("a", GOOD)]})], id="other case"),
    pytest.param([chunk({"content": [{"type": "tool_use", "name": "x"}]})], id="call as content"),
    pytest.param([chunk({"tool_calls": {"0": call("a", GOOD)}})], id="calls as an object"),
    pytest.param([part(0, **call("a", GOOD)), "[DONE]"], id="no finish"),
    pytest.param([part(0, **call("a", GOOD))], id="cut inside a call"),
    pytest.param([chunk({"content": "x"})], id="cut in text"),
    pytest.param([part(0, **call("a", GOOD)), "{oops"], id="malformed"),
    pytest.param([part(0, **call("a", GOOD)), "[1]"], id="no object"),
    pytest.param([chunk({}, "stop"), part(0, **call("a", GOOD))], id="call after the end"),
    pytest.param(
        [{**HEAD, "choices": [{"index": 1, "delta": {}, "finish_reason": None}]}], id="choice 1"
    ),
    pytest.param([{**HEAD, "choices": [], "tool_calls": [call("a", GOOD)]}], id="outside choices"),
]


@pytest.mark.parametrize("events", UNSAFE)
async def test_what_cannot_be_judged_ends_in_an_error_and_no_call(events: list[Any]) -> None:
    got = await passed(*events)
    assert set(got[-1]) == {"error"}
    assert "[DONE]" not in got
    assert not any("tool_calls" in json.dumps(event) for event in got)


async def test_an_error_of_the_upstream_passes_and_nothing_after_it() -> None:
    error = {"error": {"message": "overloaded", "code": 529}}
    got = await passed(part(0, **call("a", GOOD)), error, chunk({}, "tool_calls"), "[DONE]")
    assert got == [error]


async def test_a_key_that_stands_twice_reaches_the_client_once() -> None:
    twice = '{"choices":[{"index":0,"delta":{"content":"a"},"delta":{"content":"b"}}]}'
    stream = ChatCompletions().stream(WordDoor())
    raw = await through(stream, [f"data: {twice}\n\ndata: [DONE]\n\n".encode()])
    assert raw.count(b'"delta"') == 1


async def test_half_a_surrogate_pair_passes() -> None:
    stream = ChatCompletions().stream(WordDoor())
    raw = await through(
        stream,
        [b'data: {"choices":[{"delta":{"content":"\\ud83d"}}]}\n\n', sse(chunk({}, "stop"))],
    )
    assert b'"\\ud83d"' in raw


async def test_held_calls_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    from harness_adapters.gateway.interactive import chat
    from harness_adapters.gateway.interactive.base import HeldBytes

    monkeypatch.setattr(chat, "HeldBytes", lambda: HeldBytes(500))
    got = await passed(*[part(0, **call("a", GOOD))] * 5, chunk({}, "tool_calls"), "[DONE]")
    assert "too large" in got[-1]["error"]["message"]


async def test_a_whole_reply_in_an_unjudgeable_form_is_refused() -> None:
    legacy = {"message": {"function_call": {"name": "x", "arguments": "{}"}}}
    for choices in ([legacy], [], [legacy, legacy], [{"message": None}]):
        with pytest.raises(UpstreamError):
            await ChatCompletions().whole({"choices": choices}, WordDoor())
