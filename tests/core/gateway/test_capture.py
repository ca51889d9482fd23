"""Exact tokens through the whole gateway, and what makes a reply unusable."""

from __future__ import annotations

import gc
import math
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from tests.core.gateway.conftest import (
    BASH,
    END,
    NEWLINE,
    START,
    Client,
    Engine,
    Open,
    Wire,
    call,
    completion,
    replying,
    user,
)

from harness_adapters.gateway import sessions
from harness_adapters.gateway.capture import read_tokens
from harness_adapters.gateway.failures import TokenError
from harness_adapters.types import Flag


async def converse(client: Client, turns: int, *, result: str = "out") -> None:
    """A harness that appends the reply and a tool result to its history."""
    history = [{"role": "system", "content": "be brief"}, user("go")]
    for number in range(turns):
        reply = await client.ask(*history)
        history += [
            reply,
            {"role": "tool", "tool_call_id": "call_1", "content": f"{result} {number}"},
        ]


@pytest.mark.parametrize("retokenizes", [False, True], ids=["faithful", "other-split"])
async def test_trained_ids_are_the_emitted_ones_in_order(
    engine: Engine, client: Client, retokenizes: bool
) -> None:
    """RF01: an engine whose prompts split the same text into other ids than it sampled."""
    engine.retokenizes = retokenizes
    engine.say = replying({"content": "look", "tool_calls": [call('{"command": "ls"}')]})
    await converse(client, 4)
    rows = client.session.transcript().rows()
    trained = [id for row in rows for id, loss in zip(row.ids, row.loss, strict=True) if loss]
    assert trained == [id for _, sampled, _ in engine.emitted for id in sampled]
    logprobs = [p for row in rows for p, loss in zip(row.logprobs, row.loss, strict=True) if loss]
    assert logprobs == pytest.approx([p for _, _, values in engine.emitted for p in values])
    assert len(rows) == (4 if retokenizes else 1)
    assert list(rows[-1].ids) == engine.emitted[-1][0] + engine.emitted[-1][1]


@pytest.mark.parametrize(
    ("samples_end", "after_turn"),
    [(True, (NEWLINE,)), (True, ()), (False, (END, NEWLINE)), (False, (END,))],
    ids=["newline", "nothing", "end-and-newline", "end"],
)
async def test_what_a_template_puts_after_a_turn_is_in_the_row_and_not_trained(
    engine: Engine, client: Client, samples_end: bool, after_turn: tuple[int, ...]
) -> None:
    """RF02: rows equal a full render, whether the end of a turn was sampled or not, and whatever
    follows it."""
    engine.samples_end, engine.after_turn = samples_end, after_turn
    engine.say = replying({"content": "look", "tool_calls": [call('{"command": "ls"}')]})
    await converse(client, 4)
    (row,) = client.session.transcript().rows()
    said = {"role": "assistant", "content": "look", "tool_calls": [call('{"command": "ls"}')]}
    whole = engine.render([*engine.bodies[-1]["messages"], said])
    assert [*row.ids, *after_turn, START] == whole
    trained = [id for id, loss in zip(row.ids, row.loss, strict=True) if loss]
    assert trained == [id for _, sampled, _ in engine.emitted for id in sampled]


async def test_append_only_session_is_one_row_of_final_length(
    engine: Engine, open_client: Open
) -> None:
    """RF43, RF42: 200 turns, each token stored once."""
    from harness_adapters.types import Limits

    client = open_client(limits=Limits(max_requests=200))
    engine.say = replying({"content": "look", "tool_calls": [call('{"command": "ls"}')]})
    await converse(client, 200)
    transcript = client.session.transcript()
    (row,) = transcript.rows()
    prompt, sampled, _ = engine.emitted[-1]
    assert list(row.ids) == prompt + sampled
    assert sum(row.loss) == sum(len(emitted) for _, emitted, _ in engine.emitted)
    assert len(row.ids) == len(row.loss) == len(row.logprobs)
    assert all(math.isnan(p) == (not loss) for p, loss in zip(row.logprobs, row.loss, strict=True))
    stored = sum(len(t.new_prompt_ids) + len(t.sampled_ids) for t in transcript.turns)
    assert stored == len(row.ids)
    assert [len(turn.new_messages) for turn in transcript.turns] == [2] * 200


async def test_a_long_session_holds_little_more_than_its_tokens(
    engine: Engine, open_client: Open
) -> None:
    """RF42: 60 turns, 100k tokens."""
    from harness_adapters.types import Limits

    client = open_client(limits=Limits(max_requests=60))
    engine.say = replying({"content": "look", "tool_calls": [call('{"command": "ls"}')]})
    tracemalloc.start()
    try:
        await converse(client, 60, result="r" * 1700)
        gc.collect()
        own = tracemalloc.Filter(True, f"{Path(sessions.__file__).parent}/*")
        held = tracemalloc.take_snapshot().filter_traces([own]).statistics("filename")
    finally:
        tracemalloc.stop()
    (row,) = client.session.transcript().rows()
    assert len(row.ids) > 100_000
    assert sum(file.size for file in held) <= 24 * len(row.ids) + (1 << 20)


@pytest.mark.parametrize("missing", ["prompt_token_ids", "token_ids", "logprobs"])
async def test_training_session_refuses_a_reply_without_tokens(
    engine: Engine, open_client: Open, missing: str
) -> None:
    """RF03"""
    client = open_client(require_tokens=True)

    def drop(reply: Wire) -> None:
        reply.pop(missing, None)
        reply["choices"][0].pop(missing, None)

    engine.change = drop
    status, error = await client.post({"model": "m", "messages": [user("go")], "tools": [BASH]})
    assert (status, error["error"]["code"]) == (502, "tokens_unusable")
    transcript = client.session.transcript()
    assert (transcript.turns, transcript.token_exact) == ((), False)
    assert len(transcript.faults) == 1 and missing in transcript.faults[0]

    engine.change = lambda reply: None  # a later good reply does not make it whole again
    await client.ask(user("go"))
    assert client.session.transcript().faults == transcript.faults


async def test_engine_without_ids_marks_the_session_eval_only_loudly(
    engine: Engine, open_client: Open, caplog: pytest.LogCaptureFixture
) -> None:
    engine.change = lambda reply: reply["choices"][0].pop("token_ids") and None
    for _ in range(2):
        client = open_client()
        await converse(client, 2)
        transcript = client.session.transcript()
        assert Flag.EVAL_ONLY in transcript.flags
        assert (len(transcript.turns), transcript.token_exact, transcript.rows()) == (2, False, [])
    assert [r.levelname for r in caplog.records if "eval-only" in r.message] == ["WARNING"]


def good() -> Wire:
    return completion({"content": "ab"}, "stop", [5, 6], [1001, 3], [-0.25, -0.5])


def entry(reply: Wire, number: int) -> Any:
    return reply["choices"][0]["logprobs"]["content"][number]


def test_logprob_is_the_sampled_tokens_own() -> None:
    """RF05: a likelier alternative stands in top_logprobs."""
    reply = good()
    entry(reply, 0)["top_logprobs"] = [{"token": "token_id:7", "logprob": -0.01}]
    tokens = read_tokens(reply)
    assert (list(tokens.prompt), list(tokens.sampled)) == ([5, 6], [1001, 3])
    assert list(tokens.logprobs) == [-0.25, -0.5]


@pytest.mark.parametrize(
    "spoil",
    [
        lambda r: entry(r, 0).update(token="token_id:7"),
        lambda r: entry(r, 0).update(logprob=None),
        lambda r: entry(r, 0).update(logprob=math.nan),
        lambda r: entry(r, 0).pop("logprob"),
        lambda r: r["choices"][0]["logprobs"]["content"].pop(),
        lambda r: r["choices"][0].update(token_ids=[]),
        lambda r: r["choices"][0].update(token_ids=[1001, "3"]),
        lambda r: r["choices"][0].update(token_ids=[1001, -3]),
        lambda r: r["choices"][0].update(token_ids=[1001, 1 << 40]),
        lambda r: r["choices"][0].update(token_ids=[1001, 1 << 31]),
        lambda r: r.update(prompt_token_ids=None),
        lambda r: r["usage"].update(prompt_tokens=3),
        lambda r: r["usage"].update(completion_tokens=1),
    ],
)
def test_misaligned_tokens_are_refused(spoil: Any) -> None:
    """RF05, RF07, RF38: ids, logprobs and counts that do not fit each other."""
    reply = good()
    spoil(reply)
    with pytest.raises(TokenError):
        read_tokens(reply)


async def test_one_engine_request_per_turn(engine: Engine, client: Client) -> None:
    """RF07: the prompt's ids come with the reply, never from a second request."""
    await converse(client, 5)
    assert len(engine.bodies) == 5
    body = engine.bodies[0]
    assert (body["return_token_ids"], body["logprobs"], body["top_logprobs"]) == (True, True, 0)
    assert body["stream"] is False
