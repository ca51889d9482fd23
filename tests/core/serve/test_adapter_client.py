"""What a trainer is told when an engine says no, or nothing."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from harness_adapters.errors import InfraError
from harness_adapters.serve.adapter_client import (
    AdapterClient,
    AdapterExists,
    EngineRefused,
    EngineUnreachable,
    UnknownAdapter,
)

Answers = Callable[..., AbstractAsyncContextManager[AdapterClient]]


@pytest.fixture
def answering() -> Answers:
    """``async with answering(status, body)``: a client of a server that always says this."""

    @asynccontextmanager
    async def serve(status: int, body: Any) -> AsyncIterator[AdapterClient]:
        async def handler(request: web.Request) -> web.Response:
            if isinstance(body, str):
                return web.Response(text=body, status=status)
            return web.json_response(body, status=status)

        app = web.Application()
        app.router.add_route("*", "/{path:.*}", handler)
        async with (
            TestServer(app) as server,
            AdapterClient(str(server.make_url("")).rstrip("/")) as client,
        ):
            yield client

    return serve


def error(message: str) -> dict[str, Any]:
    return {"error": {"message": message, "type": "BadRequestError", "code": 400}}


async def test_refusals(answering: Answers, tmp_path: Path) -> None:
    async with answering(400, error("The lora adapter 'a' has already been loaded.")) as client:
        with pytest.raises(AdapterExists):
            await client.load("a", tmp_path)
    async with answering(400, error("rank 64 is\ntoo large")) as client:
        with pytest.raises(EngineRefused, match="rank 64 is too large") as refused:
            await client.load("a", tmp_path)
        assert refused.value.status == 400
        assert not isinstance(refused.value, AdapterExists)
    async with answering(404, error("The lora adapter 'a' cannot be found.")) as client:
        with pytest.raises(UnknownAdapter):
            await client.unload("a")
        with pytest.raises(UnknownAdapter):
            await client.prompt_logprobs("a", [1, 2])


async def test_a_broken_engine_is_an_infrastructure_fault(
    answering: Answers, tmp_path: Path
) -> None:
    async with answering(500, "the engine died") as client:
        with pytest.raises(EngineUnreachable, match="the engine died"):
            await client.load("a", tmp_path)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        async with AdapterClient(f"http://127.0.0.1:{taken.getsockname()[1]}") as client:
            with pytest.raises(InfraError, match="no answer"):
                await client.names()


async def test_an_engine_that_is_well_refuses_with_a_500(tmp_path: Path) -> None:
    """As vLLM does, when it cannot read an adapter."""

    async def load(_: web.Request) -> web.Response:
        return web.json_response(error("Expecting ',' delimiter"), status=500)

    async def models(_: web.Request) -> web.Response:
        return web.json_response({"data": []})

    app = web.Application()
    app.router.add_post("/v1/load_lora_adapter", load)
    app.router.add_get("/v1/models", models)
    async with (
        TestServer(app) as server,
        AdapterClient(str(server.make_url("")).rstrip("/")) as client,
    ):
        with pytest.raises(EngineRefused, match="Expecting"):
            await client.load("a", tmp_path)


async def test_adapters_are_the_cards_with_a_parent(answering: Answers) -> None:
    cards = [{"id": "base", "parent": None}, {"id": "a.v1", "parent": "base", "root": "/a"}]
    async with answering(200, {"data": cards}) as client:
        assert await client.names() == ["a.v1"]


@pytest.mark.parametrize(
    "choices",
    [
        [],
        [{"prompt_logprobs": None}],
        [{"prompt_logprobs": [None]}],
        [{"prompt_logprobs": [None, {"3": {"logprob": -1.0}}]}],
        [{"prompt_logprobs": [{"1": {"logprob": -1.0}}, {"2": {"logprob": -1.0}}]}],
    ],
)
async def test_logprobs_that_do_not_fit_the_ids(answering: Answers, choices: Any) -> None:
    async with answering(200, {"choices": choices}) as client:
        with pytest.raises(EngineUnreachable, match="another shape"):
            await client.prompt_logprobs("base", [1, 2])


async def test_logprobs_by_id(answering: Answers) -> None:
    """vLLM adds the likeliest token beside the one that was asked for."""
    entries = [None, {"9": {"logprob": -0.1}, "2": {"logprob": -2.5}}]
    async with answering(200, {"choices": [{"prompt_logprobs": entries}]}) as client:
        assert await client.prompt_logprobs("base", [1, 2]) == [-2.5]
