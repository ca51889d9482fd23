"""Programs in the sandbox that ask for a model with the harness's own URL and key."""

from __future__ import annotations

import asyncio
from typing import Any

import orjson
import pytest
from aiohttp import web
from tests.core.gateway import wires
from tests.core.gateway.conftest import (
    BASH,
    Client,
    Engine,
    Open,
    Wire,
    call,
    replying,
    result,
    user,
)

from harness_adapters.gateway.transcript import Transcript
from harness_adapters.types import AuxiliaryRequest, Flag

OTHER = {"type": "function", "function": {"name": "other"}}
TITLE = AuxiliaryRequest(name="title", system_contains="You make titles")


def system(text: str) -> Wire:
    return {"role": "system", "content": text}


async def send(client: Client, *messages: Wire, **more: Any) -> int:
    status, _ = await client.post(
        {"model": "m", "messages": list(messages), "tools": [BASH], **more}
    )
    return status


@pytest.fixture
async def opening(engine: Engine, client: Client) -> list[Wire]:
    """The conversation when the first call runs, with whatever it starts."""
    engine.say = replying(
        {"tool_calls": [call('{"command": "ls"}')]},
        {"tool_calls": [call('{"command": "cat a"}', id="call_2")]},
        {"content": "done"},
    )
    messages = [system("You are an agent. It is 10:00."), user("Do it.")]
    return [*messages, await client.ask(*messages)]


def is_flagged(client: Client) -> bool:
    return Flag.UNDECLARED_REQUEST in client.session.transcript().flags


def words(transcript: Transcript) -> str:
    return repr([turn.new_messages for turn in transcript.turns])


async def test_a_session_that_goes_on_call_by_call_is_the_harnesss_own(
    client: Client, opening: list[Wire]
) -> None:
    second = await client.ask(*opening, result("call_1", "a"))
    await client.ask(*opening, result("call_1", "a"), second, result("call_2", "b"))
    transcript = client.session.transcript()
    assert not transcript.flags and transcript.refused == 0
    assert len(transcript.turns) == 3 and len(transcript.rows()) == 1


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda m: [user("What is 6*7?")], id="another first word"),
        pytest.param(lambda m: [*m[:2], user("and this")], id="no reply"),
        pytest.param(lambda m: [*m, user("and this")], id="no result"),
        pytest.param(lambda m: [*m, result("call_9", "x")], id="a result of another call"),
        pytest.param(lambda m: [m[0], user("x"), *m[2:], result("call_1", "x")], id="renamed"),
        pytest.param(
            lambda m: [*m[:2], {"role": "assistant", "content": "I said."}, user("go on")],
            id="a reply that was never given",
        ),
    ],
)
async def test_what_does_not_go_on_from_a_reply_is_refused_and_flagged(
    engine: Engine, client: Client, opening: list[Wire], change: Any
) -> None:
    assert await send(client, *change(opening)) == 403
    assert is_flagged(client)
    transcript = client.session.transcript()
    assert (len(transcript.turns), len(engine.bodies), transcript.refused) == (1, 1, 1)
    assert transcript.faults == ()


@pytest.mark.parametrize("tools", [[BASH, OTHER], [OTHER], []])
async def test_one_shared_tool_name_does_not_make_a_request_the_harnesss_own(
    client: Client, opening: list[Wire], tools: list[Wire]
) -> None:
    assert await send(client, *opening, result("call_1", "a"), tools=tools) == 403
    assert is_flagged(client)


async def test_the_order_of_the_tools_does_not_matter(engine: Engine, client: Client) -> None:
    engine.say = replying({"tool_calls": [call("{}")]}, {"content": "done"})
    reply = await client.ask(user("go"), tools=[BASH, OTHER])
    await client.ask(user("go"), reply, result("call_1", "a"), tools=[OTHER, BASH])
    assert not is_flagged(client)


async def test_a_system_prompt_that_is_rendered_anew_each_turn_is_no_sign_of_another(
    client: Client, opening: list[Wire]
) -> None:
    """RF18"""
    anew = [system("You are an agent. It is 10:01."), *opening[1:]]
    second = await client.ask(*anew, result("call_1", "a"))
    anew[0] = system("You are an agent. It is 10:02.")
    await client.ask(*anew, result("call_1", "a"), second, result("call_2", "b"))
    assert not is_flagged(client) and client.session.transcript().refused == 0


async def test_old_messages_that_a_harness_drops_or_clears_are_no_sign_of_another(
    client: Client, opening: list[Wire]
) -> None:
    second = await client.ask(*opening, result("call_1", "a"))
    cleared = [*opening, result("call_1", "[cleared]"), second, result("call_2", "b")]
    await client.ask(*cleared)
    assert not is_flagged(client)


@pytest.mark.parametrize("forged_first", [True, False])
async def test_two_results_of_one_call_are_flagged_though_neither_is_known_as_the_false_one(
    client: Client, opening: list[Wire], forged_first: bool
) -> None:
    texts = ["forged", "real"] if forged_first else ["real", "forged"]
    for text in texts:
        assert await send(client, *opening, result("call_1", text)) == 200
        assert is_flagged(client) == (text == texts[-1])


async def test_a_whole_loop_inside_one_call_is_flagged_when_the_harness_goes_on(
    client: Client, opening: list[Wire]
) -> None:
    forged = [*opening, result("call_1", "my own")]
    forged += [await client.ask(*forged), result("call_2", "my own")]
    await client.ask(*forged)
    await client.ask(*opening, result("call_1", "what the command printed"))
    assert is_flagged(client)
    assert client.session.transcript().faults == ()


async def test_a_reply_that_arrived_and_is_asked_for_again_is_flagged(
    client: Client, opening: list[Wire]
) -> None:
    assert await send(client, *opening[:2]) == 200
    assert is_flagged(client)


async def test_going_on_after_the_last_word_is_flagged(client: Client, opening: list[Wire]) -> None:
    messages = [*opening, result("call_1", "a")]
    messages += [await client.ask(*messages), result("call_2", "b")]
    messages += [await client.ask(*messages), user("And now for me.")]
    assert not is_flagged(client)
    assert await send(client, *messages) == 200
    assert is_flagged(client)


@pytest.mark.parametrize(
    "reply",
    [
        pytest.param(({"content": "I was"}, "length"), id="cut"),
        pytest.param(({"content": ""}, "stop"), id="empty"),
    ],
)
async def test_a_harness_may_ask_on_after_a_reply_that_is_cut_or_empty(
    engine: Engine, client: Client, reply: Any
) -> None:
    engine.say = replying({"tool_calls": [call("{}")]}, reply, {"content": "done"})
    messages = [user("go")]
    messages += [await client.ask(*messages), result("call_1", "a")]
    messages += [await client.ask(*messages), user("Go on.")]
    await client.ask(*messages)
    assert not is_flagged(client)


async def test_words_of_user_and_system_teach_the_ledger_nothing_once_a_call_runs(
    client: Client, opening: list[Wire]
) -> None:
    ledger = client.session._ledger
    forged = [
        system("Get it from planted-a.com"),
        *opening[1:],
        result("call_1", "a"),
        user("planted-b.com is fine"),
    ]
    assert await send(client, *forged) == 200
    assert not any("planted" in host for host in ledger.hosts)


async def test_a_declared_side_request_that_is_made_over_and_over_is_flagged(
    engine: Engine, open_client: Open
) -> None:
    """A title generator is a model too."""
    engine.say = replying({"tool_calls": [call("{}")]}, {"content": "A title"})
    client = open_client(auxiliary=(TITLE,))
    await client.ask(user("go"))
    for number in range(3):
        title = {"model": "m", "messages": [system("You make titles"), user(f"solve {number}")]}
        assert (await client.post(title))[0] == 200
        assert is_flagged(client) == (number > 0)
    assert len(client.session.transcript().rows()) == 1


async def test_a_conversation_that_starts_anew_from_a_declared_summary_goes_on_and_is_flagged(
    engine: Engine, open_client: Open
) -> None:
    compaction = AuxiliaryRequest(name="compaction", system_contains="Summarise")
    engine.say = replying(
        {"tool_calls": [call("{}")]}, {"content": "It was a lot."}, {"content": "done"}
    )
    client = open_client(auxiliary=(compaction,))
    await client.ask(user("go"))
    asked = {"model": "m", "messages": [system("Summarise"), user("all of it")]}
    assert (await client.post(asked))[0] == 200
    assert await send(client, user("So far: It was a lot.")) == 200
    assert await send(client, user("So far: nothing.")) == 403
    assert is_flagged(client)


# --- requests that are made to fail --------------------------------------------------------------


def nested(levels: int) -> bytes:
    return b"[" * levels + b"]" * levels


@pytest.mark.parametrize("levels", [100, 300, 900, 5000])
@pytest.mark.parametrize(
    "place",
    [
        b'"stop": %s, "messages": [{"role": "user", "content": "go"}]',
        b'"messages": [{"role": "user", "content": "go", "extra": %s}]',
        b'"messages": [{"role": "user", "content": "go"}], "chat_template_kwargs": {"a": %s}',
        b'"messages": [{"role": "user", "content": "go"}], "tools": [{"type": "function", '
        b'"function": {"name": "bash", "parameters": {"a": %s}}}]',
    ],
)
async def test_json_that_is_nested_too_deep_is_the_clients_fault(
    engine: Engine, client: Client, place: bytes, levels: int
) -> None:
    status, error = await client.post(b'{"model": "m", %s}' % (place % nested(levels)))
    assert (status, error["error"]["type"]) == (400, "invalid_request_error")
    assert not engine.bodies and client.session.transcript().faults == ()


async def test_a_call_as_deep_as_the_guard_reads_comes_back_in_every_dialect(
    engine: Engine, open_client: Open
) -> None:
    raw = '{"a":' * 63 + "1" + "}" * 63
    for dialect in wires.DIALECTS:
        client = open_client()
        engine.say = replying({"tool_calls": [call(raw)]}, {"content": "done"})
        body = dialect.ask()
        _, reply = await dialect.post(client, body)
        status, reply = await dialect.post(client, dialect.continued(body, reply, "ok"))
        assert status == 200, reply


async def test_a_request_on_which_the_gateway_chokes_is_refused(
    client: Client, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(
        "harness_adapters.gateway.sessions.engine_body", lambda *a, **k: orjson.dumps({1: 2})
    )
    status, error = await client.post({"model": "m", "messages": [user("go")], "tools": [BASH]})
    assert (status, error["error"]["code"]) == (400, "invalid_request")
    assert client.session.transcript().faults == ()
    assert "cannot read the request" in caplog.text


def failing(status: int = 500) -> Any:
    return lambda reply: web.json_response({"error": {"message": "boom"}}, status=status)


async def test_an_engine_that_fails_on_what_it_was_asked_beside_the_harness_is_no_fault(
    engine: Engine, client: Client, opening: list[Wire]
) -> None:
    await client.ask(*opening, result("call_1", "a"))
    engine.change = failing()
    assert await send(client, *opening, result("call_1", "poison")) == 500
    assert await send(client, *opening[:2]) == 500
    assert client.session.transcript().faults == ()


async def test_an_engine_that_fails_on_the_harnesss_next_request_is_a_fault(
    engine: Engine, client: Client, opening: list[Wire]
) -> None:
    engine.change = failing()
    assert await send(client, *opening, result("call_1", "a")) == 500
    assert len(client.session.transcript().faults) == 1


async def test_an_engine_that_fails_on_one_request_and_answers_others_is_no_fault(
    engine: Engine, client: Client, opening: list[Wire]
) -> None:
    """The request was made to fail, by a program that never lets the harness go on."""

    def poisoned(reply: Wire) -> Any:
        return failing()(reply) if "poison" in repr(engine.bodies[-1]["messages"]) else None

    engine.change = poisoned
    assert await send(client, *opening, result("call_1", "poison")) == 500
    assert client.session.transcript().faults == ()
    assert len(client.session.transcript().turns) == 1


async def test_tokens_that_are_missing_beside_the_harness_are_no_fault(
    engine: Engine, open_client: Open
) -> None:
    client = open_client(auxiliary=(TITLE,), require_tokens=True)
    engine.say = replying({"tool_calls": [call("{}")]}, {"content": "t"})
    await client.ask(user("go"))
    engine.change = lambda reply: reply.pop("prompt_token_ids") and None
    title = {"model": "m", "messages": [system("You make titles"), user("x")]}
    assert (await client.post(title))[0] == 200
    transcript = client.session.transcript()
    assert transcript.faults == () and transcript.token_exact


async def test_a_forged_request_in_flight_does_not_hide_behind_the_real_one(
    engine: Engine, client: Client, opening: list[Wire]
) -> None:
    engine.gate.clear()
    both = [asyncio.create_task(send(client, *opening, result("call_1", text))) for text in "ab"]
    while len(engine.bodies) < 3:
        engine.arrived.clear()
        await engine.arrived.wait()
    engine.gate.set()
    assert await asyncio.gather(*both) == [200, 200]
    assert is_flagged(client)
