"""Captured ids against what the scripted engine says that it sent, for many sessions at once."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from harness_adapters.gateway.guard.judge import Guard
from harness_adapters.gateway.server import Gateway
from harness_adapters.gateway.upstream import Upstream
from harness_adapters.serve.scripted.app import build_app
from harness_adapters.serve.scripted.conversation import Body, Conversation
from harness_adapters.serve.scripted.plays import Play
from harness_adapters.serve.scripted.policy import Policy
from harness_adapters.serve.scripted.sample import Sample
from harness_adapters.serve.tokens import Call, Message

TURNS = 4
FULL = (pytest.mark.full, pytest.mark.timeout(900))
SHELL = {
    "type": "function",
    "function": {
        "name": "bash",
        "parameters": {"type": "object", "properties": {"command": {"type": "string"}}},
    },
}


class Telling(Policy):
    """Answers each session with its own words, and keeps what it sampled for whom.

    :param repeat: how often it says the session's word.
    """

    def __init__(self, repeat: int) -> None:
        super().__init__([], Play("nop"))
        self.repeat = repeat
        self.sent: dict[str, list[list[int]]] = defaultdict(list)

    def reply(self, conversation: Conversation) -> Message:
        canary = conversation.messages[-1].text.split()[-1]
        said = " ".join([canary] * self.repeat)
        return Message("assistant", said, (Call("bash", f'{{"command":"{canary}"}}'),))

    def sample(self, conversation: Conversation, body: Body, *, model: str) -> Sample:
        sample = super().sample(conversation, body, model=model)
        self.sent[conversation.messages[-1].text.split()[-1]].append(list(sample.ids))
        return sample


async def serve(app: web.Application) -> tuple[web.AppRunner, int]:
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    return runner, int(runner.addresses[0][1])


async def converse(http: aiohttp.ClientSession, url: str, key: str, canary: str) -> None:
    messages: list[dict[str, Any]] = [{"role": "user", "content": f"do {canary}"}]
    for turn in range(TURNS):
        body = {"model": "m", "messages": messages, "tools": [SHELL], "stream": False}
        async with http.post(
            f"{url}/v1/chat/completions", json=body, headers={"Authorization": f"Bearer {key}"}
        ) as response:
            reply = (await response.json())["choices"][0]["message"]
        (call,) = reply["tool_calls"]
        messages += [
            reply,
            {"role": "tool", "tool_call_id": call["id"], "content": f"step {turn} {canary}"},
        ]


@pytest.mark.parametrize(
    ("count", "repeat", "least"),
    [
        pytest.param(100, 1, 5_000, id="100"),
        pytest.param(500, 95, 1_000_000, id="500", marks=FULL),
    ],
)
async def test_captured_ids_are_the_ids_that_the_engine_sent_in_order(
    count: int, repeat: int, least: int
) -> None:
    """RF01, RF14: no id is wrong, missing, out of order or another session's."""
    policy = Telling(repeat)
    runner, port = await serve(build_app(policy, model="m"))
    upstream = Upstream(f"http://127.0.0.1:{port}")
    compared = 0
    try:
        async with Gateway(upstream=upstream, guard=Guard(()), port=0) as gateway:
            sessions = [gateway.open_session(model="m") for _ in range(count)]
            connector = aiohttp.TCPConnector(limit=0)
            async with aiohttp.ClientSession(connector=connector) as http:
                await asyncio.gather(
                    *(
                        converse(http, gateway.url, session.key, f"canary{number}x")
                        for number, session in enumerate(sessions)
                    )
                )
            for number, session in enumerate(sessions):
                transcript = session.transcript()
                captured = [list(turn.sampled_ids) for turn in transcript.turns]
                assert captured == policy.sent[f"canary{number}x"]
                assert len(captured) == TURNS and transcript.token_exact
                heard = str([(turn.new_messages, turn.reply) for turn in transcript.turns])
                own = heard.count(f"canary{number}x")
                assert own == heard.count("canary") > TURNS * repeat
                (row,) = transcript.rows()
                trained = [i for i, loss in zip(row.ids, row.loss, strict=True) if loss]
                assert trained == [token for ids in captured for token in ids]
                compared += len(trained)
    finally:
        await runner.cleanup()
    assert compared >= least
