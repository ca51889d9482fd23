"""Sessions at the wire: keys, budget, side requests, retries, cancellation."""

from __future__ import annotations

import asyncio
from typing import Any

import orjson
import pytest
from tests.core.gateway.conftest import BASH, Client, Engine, Open, accumulate, call, replying, user

from harness_adapters.gateway import notice, server, sessions
from harness_adapters.types import AuxiliaryRequest, Flag, Limits, Sampling

ASK = {"model": "m", "messages": [user("go")], "tools": [BASH]}
TITLE = AuxiliaryRequest(name="title", system_contains="You make titles")


async def test_each_of_100_sessions_holds_only_its_own_words(
    engine: Engine, open_client: Open
) -> None:
    """RF14: both routings, all at once."""
    engine.say = lambda body: ({"content": "re " + body["messages"][-1]["content"]}, "stop")
    clients = [open_client(model=f"m{n}") for n in range(100)]

    async def talk(number: int, client: Client) -> None:
        if number % 2:  # a harness that loses its key
            client.origin += client.session.path
        history: list[Any] = [user(f"canary-{number}-0")]
        for turn in range(3):
            headers = {"Authorization": "Bearer lost"} if number % 2 else {}
            status, reply = await client.post({**ASK, "messages": history}, **headers)
            assert status == 200
            history += [reply["choices"][0]["message"], user(f"canary-{number}-{turn + 1}")]

    await asyncio.gather(*(talk(n, c) for n, c in enumerate(clients)))
    emitted: dict[str, list[Any]] = {}
    for body, exchange in zip(engine.bodies, engine.emitted, strict=True):
        emitted.setdefault(body["model"], []).append(exchange)
    for number, client in enumerate(clients):
        transcript = client.session.transcript()
        said = [m["content"] for t in transcript.turns for m in t.new_messages]
        assert len(said) == 5 and all(f"canary-{number}-" in text for text in said)
        (row,) = transcript.rows()
        mine = emitted[f"m{number}"]
        assert list(row.ids) == mine[-1][0] + mine[-1][1]
        assert [list(turn.sampled_ids) for turn in transcript.turns] == [ids for _, ids, _ in mine]


async def test_a_key_beats_the_path_and_any_session_header(open_client: Open) -> None:
    one, other = open_client(), open_client()
    one.origin += other.session.path
    await one.post(ASK, **{"x-session-id": other.session.key})
    assert len(one.session.transcript().turns) == 1
    assert not other.session.transcript().turns


async def test_unknown_and_closed_keys_get_401(client: Client) -> None:
    client.session.close()
    status, error = await client.post(ASK)
    assert (status, error["error"]["code"]) == (401, "invalid_api_key")
    assert client.session.key not in repr(error)


async def test_budget_stop_is_a_clean_last_message_and_no_turn(
    engine: Engine, open_client: Open
) -> None:
    """RF33: a model that loops for ever."""
    engine.say = replying({"tool_calls": [call('{"command": "ls"}')]})
    client = open_client(limits=Limits(max_requests=3))
    for _ in range(3):
        assert "tool_calls" in await client.ask(user("go"))
    for stream in (False, True):
        status, reply = await client.post({**ASK, "stream": stream})
        reply = accumulate(reply) if stream else reply
        choice = reply["choices"][0]
        assert status == 200
        assert choice["message"] == {"role": "assistant", "content": notice.BUDGET}
        assert choice["finish_reason"] == "stop"
    transcript = client.session.transcript()
    assert (len(transcript.turns), transcript.refused) == (3, 2)
    assert len(engine.bodies) == 3
    assert Flag.BUDGET_STOP in transcript.flags


async def test_a_program_inside_the_sandbox_gets_no_model_of_its_own(
    engine: Engine, client: Client
) -> None:
    """RF15: it inherited the harness's endpoint and key."""
    await client.ask(user("go"))
    mine = {"type": "function", "function": {"name": "search"}}
    for tools in ([], None, [mine]):
        status, error = await client.post({**ASK, "messages": [user("hi")], "tools": tools})
        assert (status, error["error"]["code"]) == (403, "undeclared_request")
    transcript = client.session.transcript()
    assert (len(transcript.turns), transcript.refused, len(engine.bodies)) == (1, 3, 1)
    assert Flag.UNDECLARED_REQUEST in transcript.flags


async def test_declared_side_requests_are_served_and_never_trained(
    engine: Engine, open_client: Open
) -> None:
    """RF16: a title generator, before and after the main loop starts."""
    client = open_client(auxiliary=(TITLE,))
    system = {"role": "system", "content": [{"type": "text", "text": "You make titles. Short."}]}
    title = {"model": "small", "messages": [system, user("go")]}
    assert (await client.post(title))[0] == 200
    await client.ask(user("go"))
    assert (await client.post(title))[0] == 200
    transcript = client.session.transcript()
    assert [turn.auxiliary for turn in transcript.turns] == ["title", "", "title"]
    (row,) = transcript.rows()
    prompt, sampled, _ = engine.emitted[1]
    assert list(row.ids) == prompt + sampled
    assert not transcript.flags and transcript.refused == 0
    assert transcript.tools == (BASH,)


async def test_what_came_before_the_tools_were_known_is_disowned(client: Client) -> None:
    """RF15: a request without tools that is first."""
    await client.post({"model": "m", "messages": [user("hi")]})
    assert not client.session.transcript().turns[0].auxiliary
    await client.ask(user("go"))
    transcript = client.session.transcript()
    assert [turn.auxiliary for turn in transcript.turns] == ["undeclared", ""]
    assert len(transcript.rows()) == 1
    assert Flag.UNDECLARED_REQUEST in transcript.flags


async def test_a_request_in_flight_when_the_tools_become_known_is_disowned(
    engine: Engine, client: Client
) -> None:
    engine.gate.clear()
    early = asyncio.create_task(client.post({"model": "m", "messages": [user("hi")]}))
    await engine.arrived.wait()
    engine.arrived.clear()
    main = asyncio.create_task(client.ask(user("go")))
    await engine.arrived.wait()
    engine.gate.set()
    await asyncio.gather(early, main)
    turns = client.session.transcript().turns
    assert {turn.new_messages[0]["content"]: turn.auxiliary for turn in turns} == {
        "hi": "undeclared",
        "go": "",
    }


async def test_a_retry_after_a_failure_does_not_replay_an_older_reply(
    engine: Engine, client: Client
) -> None:
    await client.post(ASK)
    engine.change = lambda reply: {"choices": []}
    assert (await client.post(ASK))[0] == 502
    engine.change = lambda reply: None
    assert (await client.post(ASK, **{"x-stainless-retry-count": "1"}))[0] == 200
    assert len(engine.bodies) == 3
    transcript = client.session.transcript()
    assert len(transcript.turns) == 2 and not transcript.faults


@pytest.mark.parametrize("header", [True, False])
async def test_a_reply_that_the_harness_never_got(
    engine: Engine, client: Client, monkeypatch: pytest.MonkeyPatch, header: bool
) -> None:
    """RF17: it is replayed to a retry; sampled again, only the second sample is trained."""

    async def gone(*args: object) -> None:
        raise ConnectionResetError

    engine.say = replying({"content": "one"}, {"content": "two"})
    with monkeypatch.context() as patch:
        patch.setattr(server, "deliver", gone)
        await client.http.post(
            f"{client.origin}{client.session.path}/v1/chat/completions", data=orjson.dumps(ASK)
        )
    (lost,) = client.session.transcript().turns
    assert not lost.delivered
    _, reply = await client.post(ASK, **({"x-stainless-retry-count": "1"} if header else {}))
    assert reply["choices"][0]["message"]["content"] == ("one" if header else "two")
    transcript = client.session.transcript()
    assert [turn.delivered for turn in transcript.turns] == ([True] if header else [False, True])
    (row,) = transcript.rows()
    assert list(row.ids) == engine.emitted[-1][0] + engine.emitted[-1][1]


async def test_a_retry_replays_and_the_same_body_alone_samples_anew(
    engine: Engine, client: Client
) -> None:
    """RF17"""
    _, first = await client.post(ASK)
    _, again = await client.post(ASK, **{"x-stainless-retry-count": "1"})
    assert again == first and len(engine.bodies) == 1
    assert len(client.session.transcript().turns) == 1
    _, zero = await client.post(ASK, **{"x-stainless-retry-count": "0"})
    assert zero["id"] != first["id"] and len(engine.bodies) == 2
    transcript = client.session.transcript()
    assert len(transcript.turns) == 2 and len(transcript.rows()) == 2
    assert transcript.turns[1].new_messages == ()


async def test_a_retry_of_what_never_completed_is_a_new_sample(
    engine: Engine, client: Client
) -> None:
    _, reply = await client.post(ASK, **{"x-stainless-retry-count": "1"})
    assert reply["choices"] and len(client.session.transcript().turns) == 1


async def test_model_and_sampling_are_pinned_at_dispatch(engine: Engine, open_client: Open) -> None:
    """RF20, RF27: an adapter that is published while a reply is held changes nothing in it."""
    sampling = Sampling(temperature=0.7, top_p=0.9, top_k=20, min_p=0.1, seed=4)
    old = open_client(model="a.v1", sampling=sampling, limits=Limits(max_output_tokens=100))
    engine.gate.clear()
    wild = {"temperature": 0, "top_p": 0.1, "top_k": 1, "seed": 9, "frequency_penalty": 2}
    held = asyncio.create_task(old.post({**ASK, **wild, "model": "other", "max_tokens": 9999}))
    await engine.arrived.wait()
    new = open_client(model="a.v2")
    engine.gate.set()
    _, reply = await held
    await new.ask(user("go"))
    assert old.session.transcript().turns[0].model == reply["model"] == "a.v1"
    assert new.session.transcript().turns[0].model == "a.v2"
    sent = engine.bodies[0]
    assert sent["model"] == "a.v1" and sent["max_tokens"] == 100
    pinned = {"temperature": 0.7, "top_p": 0.9, "top_k": 20, "min_p": 0.1, "seed": 4}
    assert {name: sent[name] for name in pinned} == pinned
    assert "frequency_penalty" not in sent


@pytest.mark.parametrize("stream", [False, True])
async def test_a_client_that_leaves_cancels_the_engines_work(
    engine: Engine, client: Client, stream: bool
) -> None:
    engine.gate.clear()
    asking = asyncio.create_task(client.post({**ASK, "stream": stream}))
    await engine.arrived.wait()
    asking.cancel()
    await asyncio.wait_for(engine.cancelled.wait(), 5)
    transcript = client.session.transcript()
    assert not transcript.turns and not transcript.faults


async def test_closing_a_session_cancels_the_engines_work(engine: Engine, client: Client) -> None:
    engine.gate.clear()
    asking = asyncio.create_task(client.post(ASK))
    await engine.arrived.wait()
    client.session.close()
    await asyncio.wait_for(engine.cancelled.wait(), 5)
    status, error = await asking
    assert (status, error["error"]["code"]) == (401, "invalid_api_key")
    assert not client.session.transcript().turns


async def test_an_engine_that_owes_a_reply_and_has_none_for_others_is_silent(
    engine: Engine, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An infrastructure fault: not the time that the policy took."""
    monkeypatch.setattr(sessions, "PROBE_SECONDS", 0.2)
    engine.gate.clear()
    asking = asyncio.create_task(client.post(ASK))
    await engine.arrived.wait()
    client.session.close()
    await client.session.settle()
    assert client.session.transcript().faults == ("upstream: the engine is silent",)
    await asking


async def test_an_engine_that_was_still_at_work_is_at_no_fault(
    engine: Engine, client: Client
) -> None:
    """A long answer: the session's time is over, and it is graded."""
    engine.gate.clear()
    asking = asyncio.create_task(client.post(ASK))
    await engine.arrived.wait()
    client.session.close()
    engine.gate.set()
    await client.session.settle()
    assert not client.session.transcript().faults
    assert engine.bodies[-1]["max_tokens"] == 1  # it was asked something short
    await asking


async def test_a_reply_that_came_after_all_settles_it(
    engine: Engine, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A harness that gave up on a request and asked again: nothing is owed any more."""
    engine.gate.clear()
    asking = asyncio.create_task(client.post(ASK))
    await engine.arrived.wait()
    asking.cancel()
    await asyncio.wait_for(engine.cancelled.wait(), 5)
    engine.gate.set()
    await client.post(ASK)
    asked = len(engine.bodies)
    client.session.close()
    await client.session.settle()
    assert not client.session.transcript().faults and len(engine.bodies) == asked


async def test_a_slow_guard_holds_up_only_its_own_session(
    engine: Engine, open_client: Open
) -> None:
    one, other = open_client(), open_client()
    async with one.session._judging:
        waiting = asyncio.create_task(one.ask(user("go")))
        await other.ask(user("go"))
        assert not waiting.done()
    await waiting
