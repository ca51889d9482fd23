"""The engine's loop: requests come and go, and each step moves all of them on by one token.

One thread does everything. Between two steps the event loop takes requests and hands out answers;
a step reads at most ``CHUNK`` tokens of new prompts, so none waits long for another's prompt.
"""

from __future__ import annotations

import asyncio
import random
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from harness_adapters.serve.embedded.errors import OutOfMemory, Refused, or_out_of_memory
from harness_adapters.serve.embedded.lora import Adapter
from harness_adapters.serve.embedded.model import CHUNK, Model
from harness_adapters.serve.embedded.sampling import Sampling, choose
from harness_adapters.serve.embedded.states import Ids, State, States


@dataclass(kw_only=True, eq=False)
class Request:
    """One completion that is wanted, and what there is of it.

    :param adapter: stays the request's own, also when it is unloaded meanwhile.
    :param stops: ids that end it; the id itself is part of the answer.
    :param said: called after each token that does not end it; true if the text is at its end.
    :ivar finish: ``stop`` or ``length`` once it is done.
    :ivar reused: how many tokens of the prompt were known from before.
    """

    prompt: Ids
    adapter: Adapter | None
    sampling: Sampling
    max_tokens: int
    stops: frozenset[int]
    seed: int | None = None
    said: Callable[[list[int]], bool] | None = None
    ids: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    finish: str = ""
    reused: int = 0
    done: asyncio.Future[None] = field(default_factory=asyncio.Future)
    state: State | None = None

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)

    def draw(self) -> float:
        return self._random.random()

    def add(self, id: int, logprob: float) -> None:
        self.ids.append(id)
        self.logprobs.append(logprob)
        if id in self.stops or (self.said and self.said(self.ids)):
            self.finish = "stop"
        elif len(self.ids) == self.max_tokens:
            self.finish = "length"


class Scheduler:
    """Runs requests side by side.

    :param slots: how many at once; more wait.
    :param memory: bytes for what is remembered of running and finished sequences.
    """

    def __init__(self, model: Model, *, slots: int, memory: int) -> None:
        self.states = States(model.shape, memory)
        self._model = model
        self._slots = slots
        self._waiting: deque[Request] = deque()
        self._reading: list[Request] = []
        self._writing: list[Request] = []
        self._wake = asyncio.Event()

    @property
    def running(self) -> int:
        return len(self._reading) + len(self._writing)

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    async def complete(self, request: Request) -> None:
        """Wait until a request is done. Cancelled, it makes place for others at the next step.

        :raises Refused: the machine has no memory for it.
        """
        self._waiting.append(request)
        self._wake.set()
        await request.done

    async def run(self) -> None:
        """Serve for ever."""
        while True:
            if not self._waiting and not self.running:
                self._wake.clear()
                await self._wake.wait()
            self._step()
            await asyncio.sleep(0)

    def _step(self) -> None:
        self._drop_cancelled()
        self._admit()
        try:
            with or_out_of_memory():
                self._read()
                self._write()
        except OutOfMemory as error:
            # What is kept for later goes first, then the youngest request.
            if not self.states.drop_kept():
                self._fail((self._reading or self._writing)[-1], error)

    def _drop_cancelled(self) -> None:
        for group in (self._reading, self._writing):
            for request in [one for one in group if one.done.cancelled()]:
                group.remove(request)
                self._release(request)
        if any(one.done.cancelled() for one in self._waiting):
            self._waiting = deque(one for one in self._waiting if not one.done.cancelled())

    def _admit(self) -> None:
        while self._waiting and self.running < self._slots:
            if not self.states.fits(len(self._waiting[0].prompt)):
                return
            self._reading.append(self._waiting.popleft())

    def _read(self) -> None:
        budget = CHUNK
        while self._reading and budget > 0:
            request = self._reading[0]
            if request.state is None:
                # Only now, so that requests with the same beginning need not all read it.
                request.state = self.states.take(request.adapter, request.prompt)
                request.reused = request.state.length
            state = request.state
            part = request.prompt[state.length : state.length + budget]
            logits = self._model.read(state, part, request.adapter)
            budget -= len(part)
            if state.length == len(request.prompt):
                self._reading.remove(request)
                self._writing.append(request)
                [id], [logprob] = choose(logits[-1:], [request.sampling], [request.draw()])
                self._add(request, id, logprob)

    def _write(self) -> None:
        if not self._writing:
            return
        batch = list(self._writing)
        logits = self._model.step(
            [one.state for one in batch if one.state],
            [one.ids[-1] for one in batch],
            [one.adapter for one in batch],
        )
        ids, logprobs = choose(
            logits, [one.sampling for one in batch], [one.draw() for one in batch]
        )
        for request, id, logprob in zip(batch, ids, logprobs, strict=True):
            self._add(request, id, logprob)

    def _add(self, request: Request, id: int, logprob: float) -> None:
        request.add(id, logprob)
        if request.finish:
            self._writing.remove(request)
            self._release(request)
            if not request.done.done():
                request.done.set_result(None)

    def _fail(self, request: Request, error: Refused) -> None:
        (self._reading if request in self._reading else self._writing).remove(request)
        self._release(request)
        if not request.done.done():
            request.done.set_exception(error)

    def _release(self, request: Request) -> None:
        if request.state is not None:
            self.states.give_back(request.state)
            request.state = None
