"""Whatever an upstream sends: an answer or a typed error, and no call that was not judged."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.core.gateway.interactive.conftest import WordDoor, splits, sse, through
from tests.core.gateway.interactive.test_faults import CALL, END, TEXT, WHOLE

from harness_adapters.gateway.failures import UpstreamError
from harness_adapters.gateway.interactive.base import Protocols
from harness_adapters.gateway.interactive.chat import ChatCompletions
from harness_adapters.gateway.interactive.messages import Messages
from harness_adapters.gateway.interactive.responses import Responses
from harness_adapters.gateway.interactive.sse import SseParser

PROTOCOLS: dict[str, Protocols] = {
    "chat": ChatCompletions(),
    "messages": Messages(),
    "responses": Responses(),
}
STREAMS: dict[str, list[Any]] = {name: [*TEXT[name], *CALL[name], *END[name]] for name in PROTOCOLS}
junk = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-2, 9)
    | st.text(max_size=4)
    | st.sampled_from(["tool_use", "function_call", "text", "message", "x_call", "custom"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["type", "id", "name", "input", "index", "function", "item", "delta"]),
            inner,
            max_size=3,
        )
    ),
    max_leaves=6,
)
_GONE = object()


def places(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [at] if at else []
    inner: Iterable[tuple[Any, Any]] = ()
    if isinstance(value, (dict, list)):
        inner = value.items() if isinstance(value, dict) else enumerate(value)
    for key, one in inner:
        found += places(one, (*at, key))
    return found


def changed(value: Any, at: tuple[Any, ...], new: Any) -> Any:
    value = copy.deepcopy(value)
    holder = value
    for key in at[:-1]:
        holder = holder[key]
    if new is _GONE:
        del holder[at[-1]]
    else:
        holder[at[-1]] = new
    return value


def mutated(value: Any, data: st.DataObject) -> Any:
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.sampled_from(places(value) or [()]))
        if not at:
            break
        value = changed(value, at, data.draw(st.just(_GONE) | junk))
    return value


def arguments_in(value: Any) -> list[str]:
    """The arguments of whatever has the shape of a client's call, as JSON of one form."""
    if isinstance(value, list):
        return [found for one in value for found in arguments_in(one)]
    if not isinstance(value, dict):
        return []
    found: list[Any] = []
    if value.get("type") == "function_call":
        found.append(value.get("arguments"))
    elif value.get("type") == "tool_use":
        found.append(value.get("input"))
    elif value.get("type") == "input_json_delta":
        found.append(value.get("partial_json"))
    for call in value.get("tool_calls") or []:
        found.append((call.get("function") or {}).get("arguments"))
    return [compact(one) for one in found] + arguments_in(list(value.values()))


def compact(arguments: Any) -> str:
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    try:
        return json.dumps(json.loads(text))
    except ValueError:
        return text


def assert_judged(value: Any, door: WordDoor) -> None:
    judged = {compact(call.raw) for call in door.ruled}
    # a stream opens calls with nothing in them
    assert judged.issuperset(set(arguments_in(value)) - {"", "{}", "null"}), value


@pytest.mark.parametrize("name", list(PROTOCOLS))
@given(st.data())
@settings(max_examples=100)
async def test_mutated_streams(name: str, data: st.DataObject) -> None:
    events = mutated(STREAMS[name], data)
    assert isinstance(events, list)
    door = WordDoor()
    cuts = data.draw(st.lists(st.integers(0, 3000), max_size=3))
    raw = sse(*(e if isinstance(e, (dict, str)) else json.dumps(e) for e in events))
    out = await through(PROTOCOLS[name].stream(door), splits(raw, cuts))
    sent = [block.partition(b"data: ")[2] for block in out.split(b"\n\n") if b"data: " in block]
    assert_judged([json.loads(data) for data in sent if data != b"[DONE]"], door)


@pytest.mark.parametrize("name", list(PROTOCOLS))
@given(st.data())
@settings(max_examples=100)
async def test_mutated_replies(name: str, data: st.DataObject) -> None:
    reply, door = mutated(WHOLE[name], data), WordDoor()
    try:
        got = await PROTOCOLS[name].whole(reply, door)
    except UpstreamError:
        return
    assert_judged(got, door)


@pytest.mark.parametrize("name", list(PROTOCOLS))
@given(st.binary(max_size=300))
@settings(deadline=None)
async def test_arbitrary_bytes(name: str, raw: bytes) -> None:
    door = WordDoor()
    await through(PROTOCOLS[name].stream(door), [raw])
    assert not door.ruled


@pytest.mark.parametrize("name", ["messages", "responses"])
@pytest.mark.parametrize("end", ["\n", "\r"])
async def test_a_type_with_a_line_break_brings_no_event_in(name: str, end: str) -> None:
    """An event is named after its type: a line break there would start an event of its own."""
    call = CALL[name][0]
    smuggled = f"x{end}data: {json.dumps(call)}{end}{end}event: x"
    events = [*TEXT[name], {"type": smuggled}, *END[name]]
    door = WordDoor()
    out = await through(PROTOCOLS[name].stream(door), [sse(*map(json.dumps, events))])
    reader = SseParser()
    sent = [event.data for event in reader.feed(out) + reader.end()]
    assert json.dumps(call).encode() not in sent
    assert b"error" in sent[-1]
