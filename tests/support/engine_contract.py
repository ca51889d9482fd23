"""What every engine that hosts adapters must do, as tests: subclass, with a fixture ``served``.

The yardstick is a teacher-forced forward pass of transformers and peft in float32.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import shutil
import threading
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import numpy as np
import pytest
from tiny_models import logprobs_by_peft, teach, tiny_adapter, tiny_model

from harness_adapters.serve.adapter_client import (
    AdapterClient,
    AdapterExists,
    EngineRefused,
    UnknownAdapter,
)
from harness_adapters.serve.engine import Hosting, RunningEngine, open_engine, parse_engine

Json = dict[str, Any]
Chat = Any

TOLERANCE = 1e-3
CONTEXT = 2048
TOOL = {
    "type": "function",
    "function": {
        "name": "read",
        "description": "Read a file.",
        "parameters": {"type": "object", "properties": {"path": {"type": "string"}}},
    },
}
ASK_FOR_CALL = [{"role": "user", "content": "Read a.txt."}]
CALL = '<tool_call>\n{"name": "read", "arguments": {"path": "a.txt"}}\n</tool_call><|im_end|>'
LONG_TALK = [
    {"role": "system", "content": "You list birds. " * 20},
    {"role": "user", "content": "Go on."},
]

_numbers = itertools.count()


@dataclass(frozen=True, kw_only=True)
class Material:
    """A model that answers ``ASK_FOR_CALL`` with ``CALL``, and two adapters for it."""

    model: Path
    adapters: Mapping[str, Path]


@dataclass(frozen=True, kw_only=True)
class Served:
    """A running engine, and what it serves from."""

    engine: RunningEngine
    material: Material
    tolerance: float = TOLERANCE

    def folder(self, model: str) -> Path | None:
        """Where an adapter lies; the contract names loaded ones ``NUMBER-NAME``."""
        return self.material.adapters.get(model.rpartition("-")[2])


def make_material(folder: Path, family: str = "qwen3", *, experts: bool = False) -> Material:
    from transformers import AutoTokenizer

    model = tiny_model(folder / "tiny", family)
    tokenizer = AutoTokenizer.from_pretrained(model)
    text = tokenizer.apply_chat_template(
        ASK_FOR_CALL, tools=[TOOL], tokenize=False, add_generation_prompt=True
    )
    teach(model, *(tokenizer.encode(part, add_special_tokens=False) for part in (text, CALL)))
    return Material(
        model=model,
        adapters={
            "one": tiny_adapter(folder / "one", model, seed=1, rank=8, experts=experts),
            "two": tiny_adapter(folder / "two", model, seed=2, rank=16, experts=experts),
        },
    )


@contextmanager
def opened(text: str, **options: Any) -> Iterator[RunningEngine]:
    """An engine for many tests, each with an event loop of its own."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    stack = AsyncExitStack()

    async def enter() -> RunningEngine:
        return await stack.enter_async_context(open_engine(parse_engine(text), tasks=[], **options))

    try:
        yield asyncio.run_coroutine_threadsafe(enter(), loop).result()
    finally:
        asyncio.run_coroutine_threadsafe(stack.aclose(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def birds(number: int) -> list[Json]:
    return [{"role": "user", "content": "birds " * number}]


def sampled(reply: Json) -> tuple[list[int], list[int], list[float]]:
    """Prompt ids, sampled ids and their log probabilities."""
    [choice] = reply["choices"]
    logprobs = [entry["logprob"] for entry in choice["logprobs"]["content"]]
    assert len(logprobs) == len(choice["token_ids"]) == reply["usage"]["completion_tokens"]
    assert len(reply["prompt_token_ids"]) == reply["usage"]["prompt_tokens"]
    return reply["prompt_token_ids"], choice["token_ids"], logprobs


def content(reply: Json) -> str:
    return str(reply["choices"][0]["message"]["content"])


def check(served: Served, reply: Json, *, temperature: float = 1.0) -> None:
    """The log probabilities of a reply are those of its model, by transformers and peft."""
    prompt, ids, logprobs = sampled(reply)
    right = logprobs_by_peft(
        served.material.model,
        served.folder(reply["model"]),
        prompt + ids,
        temperature=temperature,
    )[len(prompt) - 1 :]
    assert np.abs(right - logprobs).max() < served.tolerance
    assert abs(right.sum() - sum(logprobs)) < served.tolerance * len(ids)


@pytest.mark.filterwarnings("ignore:.*is_gradient_checkpointing.*:FutureWarning")
class EngineContract:
    """Subclass it, with a fixture ``served`` of a wide scope."""

    @pytest.fixture
    async def client(self, served: Served) -> AsyncIterator[AdapterClient]:
        async with AdapterClient(served.engine.url) as client:
            yield client

    @pytest.fixture
    async def chat(self, served: Served) -> AsyncIterator[Chat]:
        """``await chat(messages, **fields)``: the reply's body, with ``status=`` of that status."""
        # The first request of a vLLM compiles, for minutes on a busy machine.
        no_limit = aiohttp.ClientTimeout()
        # Nor is a connection used again that a busy engine may be about to close.
        fresh = aiohttp.TCPConnector(force_close=True)
        async with aiohttp.ClientSession(
            served.engine.url, timeout=no_limit, connector=fresh
        ) as http:

            async def ask(messages: Any = LONG_TALK, *, status: int = 200, **fields: Any) -> Json:
                body = {
                    "model": served.engine.model,
                    "messages": messages,
                    "max_tokens": 12,
                    "temperature": 1.0,
                    "logprobs": True,
                    "return_token_ids": True,
                    **fields,
                }
                async with http.post("/v1/chat/completions", json=body) as response:
                    reply: Json = await response.json()
                    assert response.status == status, reply
                    return reply

            yield ask

    @pytest.fixture
    async def loaded(self, served: Served, client: AdapterClient) -> AsyncIterator[list[str]]:
        """Both adapters, under names never used before."""
        number = next(_numbers)
        names = [f"{number}-{name}" for name in served.material.adapters]
        for name in names:
            folder = served.folder(name)
            assert folder is not None
            await client.load(name, folder)
        yield names
        for name in names:
            with contextlib.suppress(UnknownAdapter):
                await client.unload(name)

    # --- chat ---------------------------------------------------------------------------------

    async def test_healthy_and_listed(self, served: Served) -> None:
        async with aiohttp.ClientSession(served.engine.url) as http:
            async with http.get("/health") as response:
                assert response.status == 200
            async with http.get("/v1/models") as response:
                [card] = (await response.json())["data"]
        assert card["id"] == served.engine.model == served.material.model.name
        assert card["root"] == str(served.material.model)
        assert card["max_model_len"] == CONTEXT
        assert card["owned_by"]

    async def test_a_tool_call(self, served: Served, chat: Chat) -> None:
        reply = await chat(ASK_FOR_CALL, tools=[TOOL], max_tokens=60, temperature=0.0)
        [choice] = reply["choices"]
        [call] = choice["message"]["tool_calls"]
        assert call["type"] == "function"
        assert call["function"] == {"name": "read", "arguments": '{"path": "a.txt"}'}
        assert call["id"]
        assert choice["finish_reason"] == "tool_calls"
        assert not choice["message"]["content"]
        check(served, reply)

    async def test_a_call_in_the_history(self, chat: Chat) -> None:
        """The next prompt begins with the last prompt and what was sampled."""
        first = await chat(ASK_FOR_CALL, tools=[TOOL], max_tokens=60, temperature=0.0)
        call = first["choices"][0]["message"]["tool_calls"][0]
        grown = [
            *ASK_FOR_CALL,
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": call["id"], "content": "42"},
        ]
        second = await chat(grown, tools=[TOOL])
        prompt, ids, _ = sampled(first)
        assert second["prompt_token_ids"][: len(prompt + ids)] == prompt + ids

    async def test_without_tools_a_call_is_text(self, chat: Chat) -> None:
        reply = await chat(ASK_FOR_CALL, max_tokens=60, temperature=0.0)
        assert not reply["choices"][0]["message"].get("tool_calls")
        assert reply["choices"][0]["finish_reason"] in ("stop", "length")

    @pytest.mark.parametrize("temperature", [0.7, 1.0, 1.3])
    async def test_logprobs_are_at_the_sampling_temperature(
        self, served: Served, chat: Chat, temperature: float
    ) -> None:
        check(served, await chat(temperature=temperature, seed=3), temperature=temperature)

    async def test_greedy(self, served: Served, chat: Chat) -> None:
        """At temperature 0 the likeliest token, with its unscaled log probability."""
        first, second = [await chat(temperature=0.0) for _ in range(2)]
        assert sampled(first)[1] == sampled(second)[1]
        check(served, first)

    async def test_narrowed_logprobs_are_of_what_was_left(self, chat: Chat) -> None:
        only = sampled(await chat(top_k=1, seed=1))
        assert only[1] == sampled(await chat(temperature=0.0))[1]
        assert max(abs(value) for value in only[2]) < 1e-6
        for narrow in ({"top_p": 0.1}, {"min_p": 0.5}, {"top_k": 3}):
            wide, close = [sampled(await chat(seed=5, max_tokens=1, **n)) for n in ({}, narrow)]
            assert min(close[2]) >= min(wide[2]) - 1e-6

    async def test_seeds_reproduce(self, chat: Chat) -> None:
        same, again, other = [sampled(await chat(seed=seed))[1] for seed in (7, 7, 8)]
        assert same == again != other

    async def test_ends(self, chat: Chat) -> None:
        cut = await chat(max_tokens=3, ignore_eos=True)
        assert cut["choices"][0]["finish_reason"] == "length"
        assert len(cut["choices"][0]["token_ids"]) == 3
        again = await chat(max_completion_tokens=3, max_tokens=None, ignore_eos=True)
        assert len(again["choices"][0]["token_ids"]) == 3

    async def test_stop_texts(self, chat: Chat) -> None:
        whole = content(await chat(temperature=0.0, max_tokens=30))
        stop = whole[len(whole) // 2 :][:3]
        reply = await chat(temperature=0.0, max_tokens=30, stop=[stop])
        assert content(reply) == whole.partition(stop)[0]
        assert reply["choices"][0]["finish_reason"] == "stop"
        assert reply["choices"][0]["stop_reason"] == stop

    # --- adapters -----------------------------------------------------------------------------

    async def test_parity_of_adapters_with_peft(
        self, served: Served, client: AdapterClient, loaded: list[str]
    ) -> None:
        """Each adapter is what peft makes of it, and the base, which stays itself, is not."""
        ids = np.random.default_rng(0).integers(5, 4000, 300).tolist()
        models = {served.engine.model: None} | {name: served.folder(name) for name in loaded}
        found = await asyncio.gather(*(client.prompt_logprobs(name, ids) for name in models))
        right = [logprobs_by_peft(served.material.model, at, ids) for at in models.values()]
        for mine, one in enumerate(found):
            for other, right_one in enumerate(right):
                off = np.abs(right_one - one).max()
                assert off < served.tolerance if mine == other else off > 100 * served.tolerance

    async def test_adapters_side_by_side(
        self, served: Served, chat: Chat, loaded: list[str]
    ) -> None:
        """Requests of the base and of two adapters in one batch are as if each were alone."""
        models = [served.engine.model, *loaded] * 3
        asked = [
            {"model": model, "seed": seed, "max_tokens": 8 + seed, "ignore_eos": True}
            for seed, model in enumerate(models)
        ]
        replies = await asyncio.gather(*(chat(**fields) for fields in asked))
        for fields, reply in zip(asked, replies, strict=True):
            assert reply["model"] == fields["model"]
            check(served, reply)
        greedy = [
            sampled(reply)[1]
            for reply in await asyncio.gather(*(chat(model=m, temperature=0.0) for m in models[:3]))
        ]
        assert len({tuple(ids) for ids in greedy}) == 3

    async def test_the_base_stays_the_base(
        self, served: Served, client: AdapterClient, loaded: list[str], chat: Chat
    ) -> None:
        base, ids = served.engine.model, list(range(100, 160))
        before = await client.prompt_logprobs(base, ids)
        await chat(model=loaded[0])
        assert np.allclose(await client.prompt_logprobs(base, ids), before, atol=1e-5)

    async def test_the_base_stays_the_base_beside_adapters_in_every_slot(
        self, served: Served, client: AdapterClient, chat: Chat
    ) -> None:
        names = [f"{next(_numbers)}-one" for _ in range(Hosting().adapters)]
        for name in names:
            await client.load(name, served.material.adapters["one"])
        try:
            for name in names:
                await chat(model=name, max_tokens=1)
            models = (names[0], served.engine.model, names[-1])
            asked = (chat(model=model, max_tokens=24, ignore_eos=True) for model in models)
            for reply in await asyncio.gather(*asked):
                check(served, reply)
        finally:
            for name in names:
                await client.unload(name)

    async def test_names(
        self, served: Served, client: AdapterClient, loaded: list[str], chat: Chat
    ) -> None:
        assert set(loaded) <= set(await client.names())
        assert served.engine.model not in await client.names()
        folder = served.material.adapters["one"]
        with pytest.raises(AdapterExists):
            await client.load(loaded[0], folder)
        await client.unload(loaded[0])
        assert loaded[0] not in await client.names()
        with pytest.raises(UnknownAdapter):
            await client.unload(loaded[0])
        for gone in (loaded[0], "never-there"):
            error = (await chat(model=gone, status=404))["error"]
            assert gone in error["message"]
            assert error["code"] == 404
            with pytest.raises(UnknownAdapter):
                await client.prompt_logprobs(gone, [1, 2, 3])

    async def test_a_running_request_keeps_its_adapter(
        self, served: Served, client: AdapterClient, chat: Chat, tmp_path: Path
    ) -> None:
        """Unloaded, its files gone, and its name never to be asked for again."""
        name = f"{next(_numbers)}-one"
        folder = shutil.copytree(served.material.adapters["one"], tmp_path / "copy")
        await client.load(name, folder)
        running = asyncio.create_task(chat(model=name, max_tokens=300, ignore_eos=True))
        await chat(max_tokens=1)  # answered later than the other was taken
        await client.unload(name)
        shutil.rmtree(folder)
        await chat(model=name, status=404)
        check(served, await running)

    async def test_unreadable_adapters(
        self, served: Served, client: AdapterClient, tmp_path: Path
    ) -> None:
        before = await client.names()
        (tmp_path / "half").mkdir()
        (tmp_path / "half/adapter_config.json").write_text('{"peft_type": "LORA"')
        for name in ("nothing", "half"):
            with pytest.raises(EngineRefused):
                await client.load(name, tmp_path / name)
        assert await client.names() == before

    # --- many requests ------------------------------------------------------------------------

    async def test_a_known_beginning_changes_nothing(
        self, served: Served, chat: Chat, loaded: list[str]
    ) -> None:
        """What an earlier turn, or another session, or another adapter left in the cache."""
        for model in (loaded[0], served.engine.model, loaded[1], loaded[0]):
            first = await chat(model=model, seed=1)
            grown = [
                *LONG_TALK,
                {"role": "assistant", "content": content(first)},
                {"role": "user", "content": "And then?"},
            ]
            for messages in (grown, LONG_TALK, grown):
                check(served, await chat(messages, model=model, seed=2))

    async def test_a_client_that_goes_away_makes_place(self, chat: Chat) -> None:
        long = {"max_tokens": 1200, "ignore_eos": True}
        start = time.monotonic()
        await chat(**long)
        one = time.monotonic() - start
        # More than the engine runs at once (``requests=4`` of the fixture).
        crowd = [asyncio.create_task(chat(**long)) for _ in range(8)]
        await asyncio.sleep(one / 10)
        for client in crowd:
            client.cancel()
        await asyncio.gather(*crowd, return_exceptions=True)
        start = time.monotonic()
        await chat(max_tokens=2)
        assert time.monotonic() - start < one

    async def test_more_requests_than_slots(self, served: Served, chat: Chat) -> None:
        replies = await asyncio.gather(*(chat(seed=seed) for seed in range(12)))
        check(served, replies[-1])
        assert len({tuple(sampled(reply)[1]) for reply in replies}) > 1

    # --- refusals -----------------------------------------------------------------------------

    async def test_too_long(self, chat: Chat) -> None:
        error = (await chat(birds(4 * CONTEXT), status=400))["error"]
        assert "maximum context length" in error["message"]
        assert error["code"] == 400

    async def test_more_than_fits_is_cut(self, chat: Chat) -> None:
        """Harnesses ask for as many tokens as the model may ever say."""
        some, more = [
            (await chat(birds(number), max_tokens=1))["usage"]["prompt_tokens"]
            for number in (100, 200)
        ]
        number = 100 + 100 * (CONTEXT - 20 - some) // (more - some)
        reply = await chat(birds(number), max_tokens=CONTEXT, ignore_eos=True)
        assert reply["choices"][0]["finish_reason"] == "length"
        assert CONTEXT - 2 <= reply["usage"]["total_tokens"] <= CONTEXT

    @pytest.mark.parametrize("fields", [{"temperature": -1}, {"messages": "hello"}, {"top_p": 2}])
    async def test_nonsense_is_refused(self, chat: Chat, fields: Json) -> None:
        assert (await chat(status=400, **fields))["error"]["message"]
