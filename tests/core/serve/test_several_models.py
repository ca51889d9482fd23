"""One engine, several models: what an evaluation asks of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import aiohttp
import pytest

from harness_adapters.errors import BadInput
from harness_adapters.serve.engine import RunningEngine, open_engine, parse_engine
from harness_adapters.serve.scripted.plays import Play, parse_play, play_of
from harness_adapters.types import Task


async def said(http: aiohttp.ClientSession, url: str, task: Task, model: str) -> tuple[int, str]:
    body = {"model": model, "messages": [{"role": "user", "content": task.instruction}]}
    async with http.post(f"{url}/v1/chat/completions", json=body) as response:
        return response.status, await response.text()


async def test_each_model_plays_what_its_name_says(repair: Task) -> None:
    engine = open_engine(parse_engine("scripted:by-model"), tasks=[repair], model="nop")
    async with engine as running, aiohttp.ClientSession() as http:
        assert running.model == "nop"
        other = running.serving("text")
        assert (other.url, other.model, other.flags) == (running.url, "text", running.flags)
        assert other.template == running.template and other.alive()
        status, reply = await said(http, other.url, repair, "text")
        assert status == 200 and "only describe it here" in reply
        status, reply = await said(http, other.url, repair, "nop")
        assert status == 200 and "I am done" in reply
        status, reply = await said(http, other.url, repair, "scripted")
        assert status == 400 and "is to say the play" in reply
        with pytest.raises(BadInput, match="did you mean 'oracle'"):
            running.serving("oracel")


async def test_a_first_model_without_a_play_starts_nothing(repair: Task) -> None:
    with pytest.raises(BadInput, match="no play 'base'"):
        async with open_engine(parse_engine("scripted:by-model"), tasks=[repair], model="base"):
            pass


async def test_a_play_is_played_by_any_name(repair: Task) -> None:
    async with open_engine(parse_engine("scripted:nop"), tasks=[repair], model="a") as running:
        assert running.serving("b").model == "b"
        assert running.serving("a") is running


async def test_models_of_a_server_are_those_it_lists(
    engine: Callable[..., Any], repair: Task
) -> None:
    async with (
        engine([repair]) as http,
        open_engine(parse_engine(str(http._base_url)), tasks=[]) as running,
    ):
        with pytest.raises(BadInput, match="has no model 'adapter'"):
            running.serving("adapter")


def test_an_engine_that_knows_one_model_never_passes_it_off_as_another() -> None:
    engine = RunningEngine(url="http://127.0.0.1:1", model="base", flags={})
    assert engine.serving("base") is engine
    with pytest.raises(BadInput, match="no model but 'base'"):
        engine.serving("adapter")


def test_by_model_is_a_choice_not_a_play() -> None:
    chosen = parse_play("by-model")
    assert str(chosen) == "by-model"
    assert play_of(chosen, "cheat:conftest") == Play("cheat", "conftest")
    assert play_of(Play("nop"), "anything") == Play("nop")
    for name in ("by-model", "by-model:x", ""):
        with pytest.raises(BadInput):
            play_of(chosen, name)
