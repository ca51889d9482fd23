"""What the doctor says of engines, good and bad."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest
from aiohttp import web

from harness_adapters.doctor import engine
from harness_adapters.doctor.line import Line, Status, Subject
from harness_adapters.plugins import Plugins
from harness_adapters.serve.engine import parse_engine
from harness_adapters.serve.scripted.app import build_app
from harness_adapters.serve.scripted.conversation import Body, Conversation
from harness_adapters.serve.scripted.plays import Play
from harness_adapters.serve.scripted.policy import Policy
from harness_adapters.serve.scripted.sample import Sample
from harness_adapters.serve.tokens import Call, Message


class Calling(Policy):
    """Calls the first tool that it is offered."""

    def __init__(self) -> None:
        super().__init__([], Play("nop"))

    def reply(self, conversation: Conversation) -> Message:
        if conversation.tools:
            return Message("assistant", "", (Call("list_files", '{"folder": "src"}'),))
        return Message("assistant", "The old lighthouse stood at the end of the road.")


class Raw(Calling):
    """Returns logprobs from before the temperature, as vLLM does unless it is told otherwise."""

    def sample(self, conversation: Conversation, body: Body, *, model: str) -> Sample:
        return replace(super().sample(conversation, body, model=model), temperature=1.0)


class Idless(Calling):
    def sample(self, conversation: Conversation, body: Body, *, model: str) -> Sample:
        sample = super().sample(conversation, body, model=model)
        return replace(sample, return_ids=False, return_logprobs=False)


class Unparsed(Calling):
    """A server without a tool parser."""

    def reply(self, conversation: Conversation) -> Message:
        said = '<tool_call>{"name": "list_files", "arguments": {}}</tool_call>'
        return Message("assistant", said) if conversation.tools else super().reply(conversation)


async def refuse(request: web.Request) -> web.Response:
    return web.json_response({"error": {"message": "field required"}}, status=400)


@asynccontextmanager
async def served(app: web.Application) -> AsyncIterator[str]:
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


async def examined(app: web.Application) -> list[Line]:
    async with served(app) as url:
        return await engine.check(Subject(plugins=Plugins(), engine=parse_engine(url)))


def the(lines: list[Line], word: str) -> Line:
    (line,) = (line for line in lines if word in line.text)
    return line


async def test_a_good_engine_passes_in_every_line() -> None:
    app = build_app(Calling(), model="tiny")
    for route in ("load", "unload"):
        app.router.add_post(f"/v1/{route}_lora_adapter", refuse)
    lines = await examined(app)
    assert [line.status for line in lines] == [Status.OK] * 6, lines
    assert "processed" in the(lines, "logprobs are").text
    assert "131072" in the(lines, "context").text


async def test_raw_logprobs_fail_with_the_fix() -> None:
    """RF04: ids are right, values are plausible, and every importance ratio would be wrong."""
    lines = await examined(build_app(Raw(), model="tiny"))
    line = the(lines, "logprobs are")
    assert line.status is Status.FAIL and "raw" in line.text
    assert "processed_logprobs" in line.fix


async def test_without_ids_it_is_for_evaluation_only() -> None:
    lines = await examined(build_app(Idless(), model="tiny"))
    assert the(lines, "eval-only").status is Status.WARN
    assert the(lines, "cannot be told").status is Status.WARN


async def test_a_call_that_comes_back_as_text_fails() -> None:
    lines = await examined(build_app(Unparsed(), model="tiny"))
    line = the(lines, "as text")
    assert line.status is Status.FAIL and "--tool-call-parser" in line.fix


async def test_a_server_that_refuses_tools_fails() -> None:
    app = build_app(Calling(), model="tiny")
    app.middlewares.append(_without_tools)
    assert the(await examined(app), "tools fails").status is Status.FAIL


@web.middleware
async def _without_tools(
    request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
) -> web.StreamResponse:
    if request.method == "POST" and "tools" in await request.json():
        return await refuse(request)
    return await handler(request)


async def test_missing_adapter_routes_are_a_warning() -> None:
    line = the(await examined(build_app(Calling(), model="tiny")), "no route")
    assert line.status is Status.WARN and "VLLM_ALLOW_RUNTIME_LORA_UPDATING" in line.fix


@pytest.mark.parametrize("length", [2048, None])
async def test_a_short_or_unknown_context_is_a_warning(length: int | None) -> None:
    app = build_app(Calling(), model="tiny")
    app.middlewares.append(_listing(length))
    assert the(await examined(app), "context").status is Status.WARN


def _listing(length: int | None) -> Any:
    @web.middleware
    async def models(
        request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        if request.path != "/v1/models":
            return await handler(request)
        return web.json_response({"data": [{"id": "tiny", "max_model_len": length}]})

    return models


async def test_a_server_that_breaks_off_is_a_line_and_not_a_crash() -> None:
    app = build_app(Calling(), model="tiny")
    app.middlewares.append(_hang_up)
    lines = await examined(app)
    assert [line.status for line in lines].count(Status.FAIL) >= 3
    assert all("no answer" in line.text for line in lines if line.status is Status.FAIL)


@web.middleware
async def _hang_up(
    request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
) -> web.StreamResponse:
    if request.method == "POST":
        assert request.transport is not None
        request.transport.abort()
    return await handler(request)


async def test_no_engine_at_the_url() -> None:
    subject = Subject(plugins=Plugins(), engine=parse_engine("http://127.0.0.1:9"))
    (line,) = await engine.check(subject)
    assert line.status is Status.FAIL and "no engine answers" in line.text
    assert "start the engine" in line.fix


@pytest.mark.parametrize(
    ("status", "body", "said"),
    [
        (401, {"error": {"message": "no key"}}, "wants a key"),
        (500, {}, "status 500"),
        (200, {"data": []}, "lists no model"),
        (200, {"data": [None, {"id": 5}]}, "no list of models"),
        (200, [1], "no list of models"),
        (200, "<html>", "no list of models"),
    ],
)
async def test_something_else_at_the_url(status: int, body: Any, said: str) -> None:
    async def answer(request: web.Request) -> web.Response:
        return web.json_response(body, status=status)

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", answer)
    (line,) = await examined(app)
    assert line.status is Status.FAIL and said in line.text and line.fix
