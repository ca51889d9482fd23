"""How requests share the engine. The model here only counts; ``test_contract.py`` has real ones."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest
import torch

from harness_adapters.serve.embedded.errors import OutOfMemory, or_out_of_memory
from harness_adapters.serve.embedded.model import CHUNK
from harness_adapters.serve.embedded.sampling import Sampling
from harness_adapters.serve.embedded.scheduler import Request, Scheduler
from harness_adapters.serve.embedded.states import Ids, Shape, State, as_ids

STOP = 7


class Counting:
    """Answers with the token that follows, by number.

    :ivar read_tokens: how many tokens of prompts it read.
    :ivar rows: how many sequences each step had.
    """

    shape = Shape(attention=(0,), heads=1, head_size=2)

    def __init__(self) -> None:
        self.read_tokens = 0
        self.largest = 0
        self.rows: list[int] = []
        self.room = 10**9
        self.stepped = asyncio.Event()

    def read(self, state: State, ids: Ids, adapter: object, **_: Any) -> Any:
        state.reserve(state.length + len(ids))
        state.append(ids)
        self.read_tokens += len(ids)
        self.largest = max(self.largest, len(ids))
        return self._logits([int(ids[-1])])

    def step(self, states: Sequence[State], ids: Sequence[int], adapters: Sequence[object]) -> Any:
        if len(states) > self.room:
            raise OutOfMemory
        self.rows.append(len(states))
        self.stepped.set()
        for state, id in zip(states, ids, strict=True):
            state.reserve(state.length + 1)
            state.append([id])
        return self._logits(ids)

    def _logits(self, ids: Sequence[int]) -> Any:
        return 50.0 * torch.nn.functional.one_hot((torch.tensor(ids) + 1) % 5000, 5000)


Serving = Callable[..., Any]


@pytest.fixture
async def model() -> Counting:
    return Counting()


@asynccontextmanager
async def serving(model: Any, slots: int = 4) -> AsyncIterator[Scheduler]:
    scheduler = Scheduler(model, slots=slots, memory=10**8)
    loop = asyncio.create_task(scheduler.run())
    yield scheduler
    loop.cancel()
    await asyncio.gather(loop, return_exceptions=True)


def request(prompt: Sequence[int], tokens: int = 5, **fields: Any) -> Request:
    return Request(
        prompt=as_ids(prompt),
        adapter=None,
        sampling=Sampling(temperature=0.0),
        max_tokens=tokens,
        stops=frozenset([STOP]),
        **fields,
    )


async def test_it_goes_on_until_a_stop_or_the_limit(model: Counting) -> None:
    async with serving(model) as scheduler:
        stopped, cut = request([1, 2, 3]), request([100], tokens=3)
        await asyncio.gather(scheduler.complete(stopped), scheduler.complete(cut))
    assert (stopped.ids, stopped.finish) == ([4, 5, 6, 7], "stop")
    assert (cut.ids, cut.finish) == ([101, 102, 103], "length")
    assert len(cut.logprobs) == 3


async def test_a_group_reads_its_prompt_once(model: Counting) -> None:
    group = [request(range(1000, 2000)) for _ in range(8)]
    async with serving(model, slots=8) as scheduler:
        await asyncio.gather(*map(scheduler.complete, group))
    assert model.read_tokens == 1000 + 7
    assert model.largest <= CHUNK
    assert sorted(one.reused for one in group) == [0] + [999] * 7
    assert max(model.rows) == 8, "and they are answered together"


async def test_the_next_turn_reads_what_is_new(model: Counting) -> None:
    async with serving(model) as scheduler:
        first = request(range(1000, 1100))
        await scheduler.complete(first)
        second = request([*first.prompt.tolist(), *first.ids, 3000, 3001])
        await scheduler.complete(second)
    assert second.reused == 100 + len(first.ids) - 1


async def test_no_more_than_slots_and_the_rest_waits(model: Counting) -> None:
    async with serving(model, slots=2) as scheduler:
        await asyncio.gather(
            *(scheduler.complete(request([100 * n], tokens=20)) for n in range(1, 7))
        )
    assert max(model.rows) == 2


async def test_who_goes_away_makes_place(model: Counting) -> None:
    async with serving(model, slots=1) as scheduler:
        endless = asyncio.create_task(scheduler.complete(request([100], tokens=10**9)))
        waiting = asyncio.create_task(scheduler.complete(request([200], tokens=10**9)))
        await asyncio.wait_for(model.stepped.wait(), 30)
        waiting.cancel()
        endless.cancel()
        last = request([300])
        await asyncio.wait_for(scheduler.complete(last), 30)
        assert last.ids == [301, 302, 303, 304, 305]
        assert scheduler.running == scheduler.waiting == 0


async def test_without_memory_the_youngest_is_refused(model: Counting) -> None:
    model.room = 2
    group = [request([100 * n], tokens=30) for n in range(1, 4)]
    async with serving(model) as scheduler:
        ends = await asyncio.gather(*map(scheduler.complete, group), return_exceptions=True)
    assert [type(end) for end in ends] == [type(None), type(None), OutOfMemory]
    assert all(one.finish == "length" for one in group[:2])


async def test_a_stop_text_ends_it(model: Counting) -> None:
    one = request([100], tokens=50, said=lambda ids: ids[-1] == 103)
    async with serving(model) as scheduler:
        await scheduler.complete(one)
    assert (one.ids, one.finish) == ([101, 102, 103], "stop")


async def test_a_seed_gives_the_same_draws() -> None:
    draws = [[one.draw() for _ in range(3)] for one in (request([1], seed=4) for _ in range(2))]
    assert draws[0] == draws[1] != [request([1], seed=5).draw() for _ in range(3)]


@pytest.mark.parametrize(
    "error", [MemoryError(), RuntimeError("DefaultCPUAllocator: can't allocate memory: 9 bytes")]
)
def test_how_memory_ends(error: Exception) -> None:
    with pytest.raises(OutOfMemory), or_out_of_memory():
        raise error
    with pytest.raises(RuntimeError, match="shape"), or_out_of_memory():
        raise RuntimeError("shape mismatch")
