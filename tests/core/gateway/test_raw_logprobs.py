"""An engine whose logprobs are from before the temperature: nothing of it may be trained on."""

from __future__ import annotations

import math
from typing import Any

import pytest
from tests.core.gateway.conftest import BASH, Engine, Open, Wire, user

from harness_adapters.gateway.raw_logprobs import are_raw
from harness_adapters.gateway.server import Gateway
from harness_adapters.types import Flag

SCORES = {"a": 2.0, "b": 1.0, "c": -1.5}


def entry(temperature: float) -> Wire:
    total = math.log(sum(math.exp(score / temperature) for score in SCORES.values()))
    listed = [
        {"token": token, "logprob": score / temperature - total} for token, score in SCORES.items()
    ]
    return {**listed[0], "top_logprobs": listed}


def reply(temperature: float) -> Wire:
    return {"choices": [{"logprobs": {"content": [entry(temperature)] * 4}}]}


async def raw(fields: Wire) -> Wire:
    return reply(1.0)


async def processed(fields: Wire) -> Wire:
    return reply(fields["temperature"])


@pytest.mark.parametrize(("ask", "expected"), [(raw, True), (processed, False)])
async def test_they_are_told_apart(ask: Any, expected: bool) -> None:
    assert await are_raw(ask) is expected


@pytest.mark.parametrize(
    "content",
    [
        None,
        "x",
        [],
        [3],
        [{"token": "a", "logprob": 0.0}],
        [{"token": "a", "logprob": None, "top_logprobs": 3}],
        [{"token": "a", "logprob": -9999.0}],
    ],
)
async def test_nothing_to_compare_is_no_verdict(content: Any) -> None:
    async def ask(fields: Wire) -> Wire:
        return {"choices": [{"logprobs": {"content": content}}]}

    assert await are_raw(ask) is None


def answer_from(temperature: float | None, engine: Engine) -> None:
    """Have the engine answer the probe; ``None``: at the temperature that is asked for."""

    def change(sent: Wire) -> Wire | None:
        body = engine.bodies[-1]
        probing = "tools" not in body
        return reply(temperature or body["temperature"]) if probing else None

    engine.change = change


async def test_raw_ones_make_sessions_eval_only(
    engine: Engine, gateway: Gateway, open_client: Open
) -> None:
    """RF04: ids are right, values are plausible, and every importance ratio would be wrong."""
    answer_from(1.0, engine)
    assert await gateway.probe_logprobs("adapter.v1") is True
    client, training = open_client(), open_client(require_tokens=True)
    await client.ask(user("go"))
    transcript = client.session.transcript()
    assert Flag.EVAL_ONLY in transcript.flags
    assert not transcript.token_exact and transcript.rows() == []
    ask = {"model": "m", "messages": [user("go")], "tools": [BASH]}
    status, error = await training.post(ask)
    assert status == 502 and "raw" in error["error"]["message"]
    assert "raw" in training.session.transcript().faults[0]


async def test_processed_ones_change_nothing(
    engine: Engine, gateway: Gateway, open_client: Open
) -> None:
    answer_from(None, engine)
    assert await gateway.probe_logprobs("adapter.v1") is False
    client = open_client(require_tokens=True)
    await client.ask(user("go"))
    assert client.session.transcript().token_exact
