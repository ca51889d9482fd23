"""The law of all dialects: a stream, read back under every split of its bytes, says what the whole
reply says. Read with the accumulators of ``wires`` and with the vendors' own clients."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import anthropic
import httpx2
import openai
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.core.gateway import wires
from tests.core.gateway.conftest import call

from harness_adapters.gateway.dialects.base import (
    Dialect,
    Envelope,
    ModelReply,
    ModelRequest,
    ToolForm,
)
from harness_adapters.gateway.dialects.chat import ChatDialect
from harness_adapters.gateway.dialects.messages import MessagesDialect
from harness_adapters.gateway.dialects.responses import ResponsesDialect
from harness_adapters.gateway.failures import Refused

DIALECTS: list[tuple[Dialect, wires.Dialect]] = [
    (ChatDialect(), wires.CHAT),
    (MessagesDialect(), wires.MESSAGES),
    (ResponsesDialect(), wires.RESPONSES),
]
each_dialect = pytest.mark.parametrize(
    ("dialect", "wire"), DIALECTS, ids=[str(wire) for _, wire in DIALECTS]
)

# surrogates cannot come out of an engine's UTF-8
text = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3),
    max_leaves=6,
)
objects = st.dictionaries(text, values, max_size=3).map(
    lambda value: json.dumps(value, ensure_ascii=False, allow_nan=False)
)
arguments = st.sampled_from(
    ["{}", "[]", "null", "{", '{"a": 1, "a": 2}', '{"a": NaN}', ' {"a" : "b"} ', '{"input": "x"}']
)
names = st.sampled_from(["bash", "apply_patch", "agents__spawn", "local_shell"])
REQUEST = ModelRequest(
    model="m",
    messages=(),
    include_usage=True,
    stream=True,
    forms={
        "apply_patch": ToolForm(kind="custom", name="apply_patch"),
        "agents__spawn": ToolForm(kind="function", name="spawn", namespace="agents"),
        "local_shell": ToolForm(kind="local_shell", name="local_shell"),
    },
)


def make_reply(
    content: str | None,
    reasoning: str,
    calls: list[tuple[str, str]],
    finish: str,
    stop: str | None,
    cached: int,
) -> ModelReply:
    message: dict[str, Any] = {"role": "assistant", "content": content}
    if reasoning:
        message["reasoning_content"] = reasoning
    if calls:
        message["tool_calls"] = [
            call(raw, name=name, id=f"call_{number}") for number, (name, raw) in enumerate(calls)
        ]
    usage = {"prompt_tokens": 30, "completion_tokens": 4, "total_tokens": 34}
    details = {"prompt_tokens_details": {"cached_tokens": cached}} if cached else {}
    return ModelReply(
        envelope=Envelope.new("a.v1"),
        message=message,
        finish=finish if calls or finish != "tool_calls" else "stop",
        usage={**usage, **details},
        stop_sequence=stop,
    )


replies = st.builds(
    make_reply,
    st.none() | text,
    text,
    st.lists(st.tuples(names, arguments | objects | text), max_size=3),
    st.sampled_from(["stop", "length", "tool_calls", "content_filter"]),
    st.none() | text,
    st.integers(0, 20),
)


def streamed(dialect: Dialect, reply: ModelReply, waits: int) -> bytes:
    raw = dialect.stream_start(reply.envelope)
    for waited in range(waits):
        raw += dialect.keep_alive(reply.envelope, waited=waited)
    return raw + dialect.stream_rest(REQUEST, reply, waited=waits)


def of(dialect: Dialect, reply: ModelReply) -> ModelReply:
    return replace(reply, envelope=Envelope.new("a.v1", prefix=dialect.id_prefix))


@each_dialect
@given(reply=replies, waits=st.integers(0, 3), data=st.data())
def test_the_stream_says_what_the_whole_reply_says(
    dialect: Dialect, wire: wires.Dialect, reply: ModelReply, waits: int, data: st.DataObject
) -> None:
    reply = of(dialect, reply)
    raw = streamed(dialect, reply, waits)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(raw)), max_size=4)))
    portions = [raw[a:b] for a, b in zip([0, *cuts], [*cuts, len(raw)], strict=True)]
    whole = json.loads(dialect.whole(REQUEST, reply))
    assert wire.accumulate(wires.read_events(*portions)) == whole


@each_dialect
def test_every_single_split(dialect: Dialect, wire: wires.Dialect) -> None:
    calls = [("bash", '{"command": "\N{GRINNING FACE}\\n"}')]
    reply = of(dialect, make_reply("é\r\n\n\u2028b", "", calls, "tool_calls", None, 3))
    raw = streamed(dialect, reply, 0)
    whole = json.loads(dialect.whole(REQUEST, reply))
    for cut in range(len(raw) + 1):
        assert wire.accumulate(wires.read_events(raw[:cut], raw[cut:])) == whole


@given(reply=replies)
def test_all_dialects_tell_of_the_same_calls(reply: ModelReply) -> None:
    """RF11: no path promotes or drops what another does not."""
    listed = []
    for dialect, wire in DIALECTS:
        own = of(dialect, reply)
        whole = json.loads(dialect.whole(replace(REQUEST, forms={}), own))
        if reply.finish == "content_filter" or (reply.stop_sequence and reply.finish == "stop"):
            continue  # not a finish that all dialects tell apart
        if whole.get("stop_reason") == "stop_sequence":
            continue
        listed.append([(id, name) for id, name, _ in wire.said(whole).calls])
    assert all(calls == listed[0] for calls in listed)


# --- the vendors' own clients --------------------------------------------------------------------


STRICT: Any = {"api_key": "k", "_strict_response_validation": True}


class Portions(httpx2.SyncByteStream):
    def __init__(self, portions: list[bytes]) -> None:
        self._portions = portions

    def __iter__(self) -> Iterator[bytes]:
        yield from self._portions


def transport(dialect: Dialect, reply: ModelReply, waits: int, cut: float) -> httpx2.Client:
    def answer(request: httpx2.Request) -> httpx2.Response:
        if json.loads(request.content).get("stream"):
            raw = streamed(dialect, reply, waits)
            at = int(len(raw) * cut)
            headers = {"content-type": "text/event-stream"}
            return httpx2.Response(200, headers=headers, stream=Portions([raw[:at], raw[at:]]))
        headers = {"content-type": "application/json"}
        return httpx2.Response(200, headers=headers, content=dialect.whole(REQUEST, reply))

    return httpx2.Client(transport=httpx2.MockTransport(answer))


client_settings = settings(
    max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
cuts = st.floats(0, 1)


def plain(value: Any) -> Any:
    return json.loads(value.to_json(exclude_unset=True, exclude_none=True))


@client_settings
@given(replies, st.integers(0, 2), cuts)
def test_openais_client_reads_chat(reply: ModelReply, waits: int, cut: float) -> None:
    dialect = ChatDialect()
    with transport(dialect, reply, waits, cut) as http:
        client = openai.OpenAI(**STRICT, base_url="http://gateway/v1", http_client=http)
        ask: Any = {"model": "m", "messages": [{"role": "user", "content": "go"}]}
        whole = client.chat.completions.create(**ask)
        content, finish = "", None
        calls: list[tuple[str | None, str | None, str | None]] = []
        for chunk in client.chat.completions.create(stream=True, **ask):
            for choice in chunk.choices:
                content += choice.delta.content or ""
                finish = choice.finish_reason or finish
                for delta in choice.delta.tool_calls or ():
                    assert delta.function and delta.index == len(calls)
                    calls.append((delta.id, delta.function.name, delta.function.arguments))
    (choice_,) = whole.choices
    assert content == (choice_.message.content or "") and finish == choice_.finish_reason
    assert calls == [
        (c.id, c.function.name, c.function.arguments)
        for c in choice_.message.tool_calls or ()
        if c.type == "function"
    ]


@client_settings
@given(replies, st.integers(0, 2), cuts)
def test_anthropics_client_reads_messages(reply: ModelReply, waits: int, cut: float) -> None:
    dialect = MessagesDialect()
    reply = of(dialect, reply)
    with transport(dialect, reply, waits, cut) as http:
        client = anthropic.Anthropic(**STRICT, base_url="http://gateway", http_client=http)
        ask: Any = {
            "model": "m",
            "max_tokens": 10,
            "messages": [{"role": "user", "content": "go"}],
        }
        whole = client.messages.create(**ask)
        with client.messages.stream(**ask) as stream:
            final = stream.get_final_message()
    assert plain(final) == plain(whole)
    assert (whole.stop_reason, whole.usage.output_tokens) == (final.stop_reason, 4)


@client_settings
@given(replies, st.integers(0, 2), cuts)
def test_openais_client_reads_responses(reply: ModelReply, waits: int, cut: float) -> None:
    dialect = ResponsesDialect()
    reply = of(dialect, reply)
    with transport(dialect, reply, waits, cut) as http:
        client = openai.OpenAI(**STRICT, base_url="http://gateway/v1", http_client=http)
        whole = client.responses.create(model="m", input="go")
        done, final, last = [], None, -1
        for event in client.responses.create(model="m", input="go", stream=True):
            assert event.sequence_number > last
            last = event.sequence_number
            if event.type == "response.output_item.done":
                done.append(plain(event.item))
            if event.type in ("response.completed", "response.incomplete"):
                final = event.response
        assert final is not None
        assert plain(final) == plain(whole)
        assert done == [plain(item) for item in whole.output]
        if reply.finish not in ("length", "content_filter"):
            with client.responses.stream(model="m", input="go") as stream:
                assert stream.get_final_response().output_text == whole.output_text


# --- what comes from the sandbox -----------------------------------------------------------------


def one_of(words: str) -> st.SearchStrategy[str]:
    return st.sampled_from(words.split())


kinds = one_of(
    "x user assistant system text tool_use tool_result message reasoning function_call custom image"
    " function_call_output custom_tool_call local_shell_call namespace tool_reference tool_addition"
    " document tool_definition"
)
members = one_of(
    "type role content text id call_id name input output arguments tools input_schema tool_use_id"
    " summary action source defer_loading tool tool_name format definition"
)
fields = one_of(
    "model messages input system instructions tools tool_choice stream max_tokens text reasoning"
    " max_output_tokens output_config stop_sequences"
)
wild = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | kinds,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(members, inner, max_size=4),
    max_leaves=12,
)


def check_shape(message: Any) -> None:
    """What everything behind the dialects relies on."""
    assert message["role"] in ("system", "developer", "user", "assistant", "tool")
    content = message.get("content")
    for part in content if isinstance(content, list) else ():
        assert isinstance(part["type"], str) and isinstance(part.get("text", ""), str)
    assert content is None or isinstance(content, str | list)
    if message["role"] == "tool":
        assert isinstance(message["tool_call_id"], str)
    for made in message.get("tool_calls") or ():
        assert isinstance(made["id"], str)
        assert isinstance(made["function"]["name"], str)
        assert isinstance(made["function"]["arguments"], str)


@each_dialect
@settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow])
@given(st.dictionaries(fields, wild, max_size=5), st.lists(wild, max_size=3))
def test_a_request_of_any_shape_is_read_or_refused(
    dialect: Dialect, wire: wires.Dialect, body: Any, items: Any
) -> None:
    conversation = "input" if wire is wires.RESPONSES else "messages"
    for raw in (body, {"model": "m", conversation: items}, {**wire.ask(), **body}):
        try:
            request = dialect.read(json.dumps(raw).encode())
        except Refused as refused:
            assert refused.status == 400
        else:
            assert request.messages and isinstance(request.model, str)
            for message in request.messages:
                check_shape(message)
            json.dumps([list(request.tools), list(request.tools.values())])
