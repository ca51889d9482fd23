"""Captured ids against what the scripted engine says that it sent, for 200 sessions at once."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from pathlib import Path
from typing import Any

import aiohttp
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

SESSIONS, TURNS = 200, 4
SHELL = {
    "type": "function",
    "function": {
        "name": "bash",
        "parameters": {"type": "object", "properties": {"command": {"type": "string"}}},
    },
}


class Telling(Policy):
    """Answers each session with its own words, and keeps what it sampled for whom."""

    def __init__(self) -> None:
        super().__init__([], Play("nop"))
        self.sent: dict[str, list[list[int]]] = defaultdict(list)

    def reply(self, conversation: Conversation) -> Message:
        canary = conversation.messages[-1].text.split()[-1]
        return Message(
            "assistant", f"looking {canary}", (Call("bash", f'{{"command":"{canary}"}}'),)
        )

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


async def test_captured_ids_are_the_ids_that_the_engine_sent_in_order(tmp_path: Path) -> None:
    """RF01, RF14: no id is wrong, missing, out of order or another session's."""
    policy = Telling()
    runner, port = await serve(build_app(policy, model="m"))
    upstream = Upstream(f"http://127.0.0.1:{port}")
    try:
        async with Gateway(upstream=upstream, guard=Guard(()), port=0) as gateway:
            sessions = [gateway.open_session(model="m") for _ in range(SESSIONS)]
            async with aiohttp.ClientSession() as http:
                await asyncio.gather(
                    *(
                        converse(http, gateway.url, session.key, f"canary{number}")
                        for number, session in enumerate(sessions)
                    )
                )
            for number, session in enumerate(sessions):
                transcript = session.transcript()
                captured = [list(turn.sampled_ids) for turn in transcript.turns]
                assert captured == policy.sent[f"canary{number}"]
                assert len(captured) == TURNS and transcript.token_exact
                (row,) = transcript.rows()
                trained = [i for i, loss in zip(row.ids, row.loss, strict=True) if loss]
                assert trained == [token for ids in captured for token in ids]
    finally:
        await runner.cleanup()
