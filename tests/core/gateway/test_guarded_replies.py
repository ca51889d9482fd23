"""What a harness gets instead of calls that the guard does not let through."""

from __future__ import annotations

from typing import Any

import pytest
from tests.core.gateway.conftest import (
    BASH,
    Client,
    Engine,
    accumulate,
    call,
    replying,
    result,
    user,
)

from harness_adapters.gateway import notice
from harness_adapters.gateway.transcript import Decision
from harness_adapters.types import Flag

ASK = {"model": "m", "messages": [user("go")], "tools": [BASH]}
GOOD = '{"command": "ls"}'
BAD = '{"command": "forbidden"}'


async def choice(client: Client, stream: bool) -> Any:
    status, reply = await client.post({**ASK, "stream": stream})
    assert status == 200
    return (accumulate(reply) if stream else reply)["choices"][0]


@pytest.mark.parametrize("stream", [False, True])
async def test_a_blocked_call_becomes_a_notice(
    engine: Engine, client: Client, stream: bool
) -> None:
    engine.say = replying({"content": "I will", "tool_calls": [call(BAD)]})
    got = await choice(client, stream)
    assert got["message"] == {"role": "assistant", "content": f"I will\n\n{notice.BLOCKED}"}
    assert got["finish_reason"] == "stop"
    transcript = client.session.transcript()
    (turn,) = transcript.turns
    (judged,) = transcript.blocked
    assert (judged.decision, judged.policy) == (Decision.BLOCK, "test-policy")
    assert judged.findings[0].rule == "words.forbidden"
    assert (turn.finish, transcript.calls) == ("tool_calls", 0)
    assert list(transcript.rows()[0].ids) == [*turn.new_prompt_ids, *turn.sampled_ids]


async def test_the_prompt_after_a_block_is_a_new_row_without_loss_on_the_notice(
    engine: Engine, client: Client
) -> None:
    engine.say = replying({"tool_calls": [call(BAD)]}, {"content": "sorry"})
    first = await client.ask(user("go"))
    await client.ask(user("go"), first, user("go on"))
    blocked, after = client.session.transcript().rows()
    assert [id for id, loss in zip(blocked.ids, blocked.loss, strict=True) if loss] == (
        engine.emitted[0][1]
    )
    assert list(after.ids) == engine.emitted[1][0] + engine.emitted[1][1]
    assert sum(after.loss) == len(engine.emitted[1][1])


async def test_one_blocked_call_takes_its_siblings_with_it(engine: Engine, client: Client) -> None:
    calls = [call(GOOD), call(BAD, id="call_2"), call(GOOD, id="call_3")]
    engine.say = replying({"tool_calls": calls})
    got = await choice(client, True)
    assert got["message"] == {"role": "assistant", "content": notice.BLOCKED}
    judged = client.session.transcript().turns[0].calls
    assert [c.dropped for c in judged] == [True, False, True]
    assert not any(c.executed for c in judged)


@pytest.mark.parametrize("stream", [False, True])
async def test_a_call_cut_by_the_output_limit_is_never_forwarded(
    engine: Engine, client: Client, stream: bool
) -> None:
    """RF10: some harnesses close the braces themselves and run it."""
    cut = '{"command": "ls'
    engine.say = replying(({"tool_calls": [call(GOOD), call(cut, id="call_2")]}, "length"))
    got = await choice(client, stream)
    assert got["message"] == {"role": "assistant", "content": notice.CUT_OFF}
    assert got["finish_reason"] == "length"
    transcript = client.session.transcript()
    assert [c.arguments for c in transcript.turns[0].calls] == [{"command": "ls"}, cut]
    assert transcript.calls == 0 and not transcript.blocked
    assert transcript.flags == {Flag.MALFORMED_CALL}
    assert sum(transcript.rows()[0].loss) == len(engine.emitted[0][1])


async def test_whole_calls_before_the_output_limit_are_kept(engine: Engine, client: Client) -> None:
    engine.say = replying(({"tool_calls": [call(GOOD)]}, "length"))
    got = await choice(client, False)
    assert got["finish_reason"] == "length"
    assert got["message"]["tool_calls"] == [call(GOOD)]


@pytest.mark.parametrize(
    "raw",
    [
        '{"command": "ls"',
        '{"command": NaN}',
        '{"command": "a", "command": "b"}',
        '{"command": "ls"} trailing',
        '["ls"]',
        "ls -la",
        '{"command": "' + "x" * 100_000,
        "[" * 5000,
        '{"command": "\\ud800"}',
    ],
    ids=lambda raw: raw[:24],
)
async def test_malformed_arguments_are_judged_scored_and_forwarded_as_they_are(
    engine: Engine, client: Client, raw: str
) -> None:
    """RF10, RF11: the same on both paths."""
    engine.say = replying({"tool_calls": [call(raw)]})
    whole, streamed = await choice(client, False), await choice(client, True)
    assert whole == streamed
    assert whole["message"]["tool_calls"] == [call(raw)]
    transcript = client.session.transcript()
    assert all(turn.calls[0].arguments == raw for turn in transcript.turns)
    assert transcript.flags == {Flag.MALFORMED_CALL}
    assert len(transcript.rows()) == 2


async def test_malformed_arguments_that_the_guard_blocks(engine: Engine, client: Client) -> None:
    engine.say = replying({"tool_calls": [call('{"command": "forbidden')]})
    got = await choice(client, False)
    assert got["message"]["content"] == notice.BLOCKED
    transcript = client.session.transcript()
    assert transcript.flags == {Flag.MALFORMED_CALL} and len(transcript.blocked) == 1


@pytest.mark.parametrize("left_out", ["", "  ", None, {}])
async def test_a_tool_without_parameters_is_called_with_an_empty_object(
    engine: Engine, client: Client, left_out: Any
) -> None:
    """RF09: parsers drop empty arguments."""
    engine.say = replying({"tool_calls": [call(left_out)]})
    got = await choice(client, True)
    assert got["message"]["tool_calls"] == [call("{}")]
    assert client.session.transcript().turns[0].calls[0].arguments == {}
    assert not client.session.transcript().flags


async def test_ids_are_unique_and_a_nameless_call_goes_nowhere(
    engine: Engine, client: Client
) -> None:
    engine.say = replying({"tool_calls": [call(GOOD), call(GOOD), call(GOOD, id="")]})
    ids = [c["id"] for c in (await choice(client, True))["message"]["tool_calls"]]
    assert len(set(ids)) == 3 and all(ids)
    engine.say = replying({"tool_calls": [call(GOOD, name="")]})
    got = await choice(client, True)
    assert "tool_calls" not in got["message"] and got["finish_reason"] == "stop"
    assert Flag.MALFORMED_CALL in client.session.transcript().flags


async def test_a_finish_that_promises_calls_without_any_reads_stop(
    engine: Engine, client: Client
) -> None:
    engine.say = replying(({"content": "hm"}, "tool_calls"))
    assert (await choice(client, False))["finish_reason"] == "stop"
    engine.say = replying(({"tool_calls": [call(GOOD)]}, "stop"))
    assert (await choice(client, False))["finish_reason"] == "tool_calls"


async def test_guard_faults_are_told_apart(engine: Engine, client: Client) -> None:
    engine.say = replying({"tool_calls": [call('{"command": "choke"}')]})
    await choice(client, False)
    transcript = client.session.transcript()
    assert transcript.blocked[0].decision is Decision.UNJUDGEABLE
    assert not transcript.guard_faults
    engine.say = replying({"tool_calls": [call('{"command": "broken"}')]})
    await choice(client, False)
    assert client.session.transcript().guard_faults == ("words: RuntimeError",)


async def test_a_guard_that_raises_lets_nothing_through(
    engine: Engine, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def raises(*args: object) -> None:
        raise RuntimeError("bug")

    monkeypatch.setattr(client.session._guard, "judge", raises)
    engine.say = replying({"tool_calls": [call(GOOD)]})
    async with client.http.post(
        f"{client.origin}{client.session.path}/v1/chat/completions", json=ASK
    ) as response:
        assert response.status == 500
    transcript = client.session.transcript()
    assert not transcript.turns and transcript.faults == ("gateway: RuntimeError: bug",)


async def test_a_megabyte_of_arguments(engine: Engine, client: Client) -> None:
    """RF10: whole, and larger than an HTTP library sends in one piece."""
    raw = '{"command": "' + "x" * 1_000_000 + '"}'
    engine.say = replying({"tool_calls": [call(raw)]})
    engine.width = 1000
    got = await choice(client, True)
    assert got["message"]["tool_calls"] == [call(raw)]
    await client.ask(user("go"), got["message"], result("call_1", "done"))
