"""What holds in every dialect alike, against a running gateway."""

from __future__ import annotations

import io
from typing import Any

import aiohttp
import orjson
import pytest
from aiohttp import web
from tests.core.gateway.conftest import Client, Engine, Open, call, replying
from tests.core.gateway.wires import DIALECTS, MESSAGES, RESPONSES, Dialect, read_events

from harness_adapters.gateway import delivery, notice
from harness_adapters.gateway.server import Gateway
from harness_adapters.gateway.transcript import Decision
from harness_adapters.types import AuxiliaryRequest, Flag, Limits

GOOD = '{"command": "ls"}'
BAD = '{"command": "forbidden"}'

FULL = (pytest.mark.full, pytest.mark.timeout(900))
in_each_dialect = pytest.mark.parametrize("wire", DIALECTS, ids=str)
streamed_or_not = pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])


@in_each_dialect
@streamed_or_not
async def test_text_and_a_call(engine: Engine, client: Client, wire: Dialect, stream: bool) -> None:
    """RF12: streamed or not, as the harness wants it; the engine is never asked to stream."""
    engine.say = replying({"content": "look", "tool_calls": [call(GOOD)]})
    said = await wire.say(client, wire.ask(stream=stream))
    assert said.text == "look" and said.finish == "tool_calls"
    assert said.calls == [("call_1", "bash", {"command": "ls"})]
    assert engine.bodies[0]["stream"] is False
    assert [tool["function"]["name"] for tool in engine.bodies[0]["tools"]] == ["bash"]
    (turn,) = client.session.transcript().turns
    assert turn.delivered and turn.calls[0].decision is Decision.ALLOW


@in_each_dialect
@pytest.mark.parametrize(
    "raw",
    [
        GOOD,
        "{}",
        '{"command": "ls',
        '{"command": NaN}',
        '{"a": 1, "a": 2}',
        "ls",
        '["ls"]',
        "[" * 999,
    ],
    ids=lambda raw: raw[:16],
)
async def test_a_call_is_the_same_call_on_every_path(
    engine: Engine, open_client: Open, wire: Dialect, raw: str
) -> None:
    """RF11: one list of calls and one verdict, streamed or not, in each dialect."""
    engine.say = replying({"tool_calls": [call(raw), call(GOOD, id="call_2")]})
    client = open_client()
    one = await wire.say(client, wire.ask())
    other = await wire.say(client, wire.ask(stream=True))
    assert one == other
    assert [(id, name) for id, name, _ in one.calls] == [("call_1", "bash"), ("call_2", "bash")]
    if raw not in (GOOD, "{}"):
        assert one.calls[0][2] == raw or wire is not MESSAGES
    verdicts = [[c.decision for c in t.calls] for t in client.session.transcript().turns]
    assert verdicts == [[Decision.ALLOW] * 2] * 2


@in_each_dialect
@streamed_or_not
async def test_a_blocked_call_becomes_a_notice(
    engine: Engine, client: Client, wire: Dialect, stream: bool
) -> None:
    engine.say = replying({"content": "I will", "tool_calls": [call(GOOD), call(BAD, id="x")]})
    said = await wire.say(client, wire.ask(stream=stream))
    assert (said.text, said.calls) == (f"I will\n\n{notice.BLOCKED}", [])
    assert said.finish == "stop"
    assert len(client.session.transcript().blocked) == 1
    assert sum(client.session.transcript().rows()[0].loss) == len(engine.emitted[0][1])


@in_each_dialect
@streamed_or_not
async def test_a_call_cut_by_the_output_limit_is_never_forwarded(
    engine: Engine, client: Client, wire: Dialect, stream: bool
) -> None:
    engine.say = replying(({"tool_calls": [call('{"command": "ls')]}, "length"))
    said = await wire.say(client, wire.ask(stream=stream))
    assert (said.text, said.calls, said.finish) == (notice.CUT_OFF, [], "length")


@in_each_dialect
async def test_the_budget_stop_is_a_clean_last_message_and_no_turn(
    engine: Engine, open_client: Open, wire: Dialect
) -> None:
    """RF33"""
    engine.say = replying({"tool_calls": [call(GOOD)]})
    client = open_client(limits=Limits(max_requests=1))
    assert (await wire.say(client, wire.ask())).calls
    for stream in (False, True):
        said = await wire.say(client, wire.ask(stream=stream))
        assert (said.text, said.calls, said.finish) == (notice.BUDGET, [], "stop")
    assert len(client.session.transcript().turns) == len(engine.bodies) == 1


@in_each_dialect
async def test_an_undeclared_side_request_is_refused(
    engine: Engine, client: Client, wire: Dialect
) -> None:
    """RF15"""
    await wire.say(client, wire.ask())
    for stream in (False, True):
        status, error = await wire.post(client, wire.ask("hi", tools=False, stream=stream))
        assert (status, error["error"]["code"]) == (403, "undeclared_request")
    assert Flag.UNDECLARED_REQUEST in client.session.transcript().flags
    assert len(engine.bodies) == 1


@in_each_dialect
async def test_a_declared_side_request_is_known_by_its_system_text(
    open_client: Open, wire: Dialect
) -> None:
    title = AuxiliaryRequest(name="title", system_contains="You make titles")
    client = open_client(auxiliary=(title,))
    system = "You make titles. Short."
    body = wire.ask("go", tools=False)
    if wire is MESSAGES:
        body["system"] = [{"type": "text", "text": system}]
    elif wire is RESPONSES:
        body["instructions"] = system
    else:
        body["messages"].insert(0, {"role": "system", "content": system})
    await wire.say(client, body)
    await wire.say(client, wire.ask())
    assert [turn.auxiliary for turn in client.session.transcript().turns] == ["title", ""]


@in_each_dialect
async def test_a_retry_replays_and_the_same_body_alone_samples_anew(
    engine: Engine, client: Client, wire: Dialect
) -> None:
    """RF17"""
    engine.say = replying({"content": "one"}, {"content": "two"})
    _, first = await wire.post(client, wire.ask(stream=True))
    _, again = await wire.post(client, wire.ask(stream=True), **{"x-stainless-retry-count": "1"})
    assert again == first and len(engine.bodies) == 1
    _, anew = await wire.post(client, wire.ask(stream=True), **{"x-stainless-retry-count": "0"})
    assert anew["id"] != first["id"] and wire.said(anew).text == "two"
    assert len(client.session.transcript().turns) == 2


@in_each_dialect
@pytest.mark.parametrize("times", [100, pytest.param(1000, marks=FULL)])
async def test_a_client_that_leaves_on_the_terminal_event_loses_no_turn(
    engine: Engine, gateway: Gateway, wire: Dialect, times: int
) -> None:
    """RF08: each time with a connection of its own."""
    engine.say = replying({"content": "bye"})
    missing = 0
    for _ in range(times):
        session = gateway.open_session(model="m")
        async with (
            aiohttp.ClientSession() as http,
            http.post(
                f"{gateway.url}{session.path}{wire.path}", json=wire.ask(stream=True)
            ) as response,
        ):
            async for line in response.content:
                if wire.terminal in line:
                    response.close()
                    missing += len(session.transcript().turns) != 1
                    break
            else:
                raise AssertionError("no terminal event came")
        session.close()
    assert missing == 0


@in_each_dialect
async def test_an_append_only_session_is_one_row(
    engine: Engine, client: Client, wire: Dialect
) -> None:
    """RF01, RF43: though the harness writes the call's arguments in another way than the model."""
    raw = '{"command":  "ls \\u00e9",\n "n": 1}'
    engine.say = replying({"content": "look", "tool_calls": [call(raw)]})
    body = wire.ask("go")
    for number in range(4):
        status, reply = await wire.post(client, body)
        assert status == 200
        # as JavaScript and Python clients do: parsed, and written again
        body = wire.continued(body, _rewritten(reply), f"out {number}")
    (row,) = client.session.transcript().rows()
    prompt, sampled, _ = engine.emitted[-1]
    assert list(row.ids) == prompt + sampled
    assert sum(row.loss) == sum(len(ids) for _, ids, _ in engine.emitted)
    assert [len(turn.new_messages) for turn in client.session.transcript().turns] == [1, 2, 2, 2]


@in_each_dialect
@pytest.mark.parametrize("count", [1, 2, 3, 4])
async def test_results_that_come_together_go_on_in_one_row(
    engine: Engine, client: Client, wire: Dialect, count: int
) -> None:
    """RF06: what is appended is what the engine rendered, as one suffix."""
    both = [call(f'{{"command": "ls {n}"}}', id=f"call_{n}") for n in range(count)]
    engine.say = replying({"tool_calls": both}, {"content": "done"})
    body = wire.ask("go")
    status, reply = await wire.post(client, body)
    assert status == 200
    await wire.say(client, wire.continued(body, reply, "a result"))
    (row,) = client.session.transcript().rows()
    (first, sampled, _), (prompt, last, _) = engine.emitted
    assert list(row.ids) == prompt + last
    assert prompt[: len(first) + len(sampled)] == first + sampled
    assert len(client.session.transcript().turns[1].new_messages) == 1 + count


def _rewritten(reply: Any) -> Any:
    if isinstance(reply, dict):
        return {
            name: orjson.dumps(orjson.loads(value)).decode()
            if name == "arguments"
            else _rewritten(value)
            for name, value in reply.items()
        }
    return [_rewritten(value) for value in reply] if isinstance(reply, list) else reply


async def test_a_call_that_the_harness_changed_stays_changed(
    engine: Engine, client: Client
) -> None:
    engine.say = replying({"tool_calls": [call(GOOD)]})
    body = MESSAGES.ask("go")
    _, reply = await MESSAGES.post(client, body)
    reply["content"][0]["input"]["command"] = "ls -la"
    await MESSAGES.post(client, MESSAGES.continued(body, reply, "out"))
    sent = engine.bodies[1]["messages"][1]["tool_calls"][0]["function"]["arguments"]
    assert orjson.loads(sent) == {"command": "ls -la"}
    assert len(client.session.transcript().rows()) == 2


# --- waiting and failing -------------------------------------------------------------------------


async def held_events(engine: Engine, client: Client, wire: Dialect) -> list[tuple[str, str]]:
    """Of a stream that the engine keeps waiting until two keep-alives have come."""
    engine.gate.clear()
    async with client.http.post(
        f"{client.origin}{client.session.path}{wire.path}", json=wire.ask(stream=True)
    ) as response:
        assert response.status == 200
        raw = start = await response.content.readany()
        while raw.count(b"\n\n") < start.count(b"\n\n") + 2:
            raw += await response.content.readany()
        engine.gate.set()
        return read_events(raw + await response.read())


@in_each_dialect
async def test_a_stream_is_kept_alive_while_the_engine_works(
    engine: Engine, client: Client, wire: Dialect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delivery, "KEEP_ALIVE_SECONDS", 0.02)
    reply = wire.accumulate(await held_events(engine, client, wire))
    assert wire.said(reply).text == "done" and reply["model"] == "adapter.v1"
    assert client.session.transcript().turns[0].delivered


@in_each_dialect
async def test_a_failure_after_keep_alives_is_an_error_event_and_no_end(
    engine: Engine, client: Client, wire: Dialect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delivery, "KEEP_ALIVE_SECONDS", 0.02)
    engine.change = lambda reply: {"choices": []}
    *before, (name, data) = await held_events(engine, client, wire)
    last = orjson.loads(data)
    if wire is MESSAGES:
        assert (name, last["error"]["type"]) == ("error", "api_error")
    elif wire is RESPONSES:
        assert (name, last["response"]["error"]["code"]) == ("response.failed", "server_error")
        numbers = [orjson.loads(data)["sequence_number"] for _, data in [*before, (name, data)]]
        assert numbers == list(range(len(numbers)))
    else:
        assert last["error"]["code"] == "upstream_error"
    assert not any(wire.terminal in data.encode() or data == "[DONE]" for _, data in before)


@in_each_dialect
async def test_engine_errors_keep_their_status_and_retry_after(
    engine: Engine, client: Client, wire: Dialect
) -> None:
    body = b'{"error":{"message":"slow down","type":"rate_limit","code":null}}'
    engine.change = lambda reply: web.Response(status=429, body=body, headers={"Retry-After": "7"})
    async with client.http.post(
        f"{client.origin}{client.session.path}{wire.path}", json=wire.ask(stream=True)
    ) as response:
        error = await response.json()
        assert (response.status, response.headers["Retry-After"]) == (429, "7")
    assert "slow down" in error["error"]["message"]
    if wire is MESSAGES:
        assert (error["type"], error["error"]["type"]) == ("error", "rate_limit_error")


@in_each_dialect
async def test_keys_are_known_in_either_header(client: Client, wire: Dialect) -> None:
    async def post(**headers: str) -> int:
        data = io.BytesIO(orjson.dumps(wire.ask()))
        url = f"{client.origin}{wire.path}"
        async with client.http.post(url, data=data, headers=headers) as response:
            error = await response.json()
            assert response.status == 200 or error["error"]["code"] == "invalid_api_key"
            return response.status

    key = client.session.key
    assert await post(**{"x-api-key": key}) == 200
    assert await post(**{"x-api-key": "other", "Authorization": f"Bearer {key}"}) == 200
    assert await post(**{"x-api-key": key, "Authorization": "Bearer other"}) == 200
    assert await post(**{"x-api-key": "other"}) == await post() == 401


@in_each_dialect
@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'{"model": "m"}', b'{"model": 1}'])
async def test_malformed_bodies_are_refused_in_the_dialects_own_shape(
    client: Client, wire: Dialect, body: bytes
) -> None:
    async with client.http.post(
        f"{client.origin}{client.session.path}{wire.path}", data=io.BytesIO(body)
    ) as response:
        error = await response.json()
    assert (response.status, error["error"]["type"]) == (400, "invalid_request_error")
    assert client.session.transcript().refused == 0


async def test_models_are_listed_where_harnesses_look_for_them(client: Client) -> None:
    async def get(path: str, **headers: str) -> Any:
        async with client.http.get(f"{client.origin}{path}", headers=headers) as response:
            return response.status, await response.json()

    for path in ("/v1/models", "/api/v1/models", "/models"):
        for status, listed in (
            await get(client.session.path + path),
            await get(path, **{"x-api-key": client.session.key}),
        ):
            assert status == 200 and [card["id"] for card in listed["data"]] == ["adapter.v1"]
    status, card = await get(f"{client.session.path}/v1/models/adapter.v1")
    assert status == 200 and (card["object"], card["type"]) == ("model", "model")
    assert (await get(f"{client.session.path}/v1/models/other"))[0] == 404
    assert (await get("/api/v1/models"))[0] == 401
