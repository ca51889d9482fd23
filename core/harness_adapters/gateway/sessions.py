"""One session at the wire: its pinned model and sampling, its budget, and what it leaves."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import time
from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from harness_adapters.gateway.capture import Tokens, read_tokens
from harness_adapters.gateway.completions import engine_body, read_completion
from harness_adapters.gateway.conversation import Conversations, Message
from harness_adapters.gateway.dialects.base import Envelope, ModelReply, ModelRequest
from harness_adapters.gateway.echoes import SampledCalls
from harness_adapters.gateway.failures import (
    Refused,
    TokenError,
    UpstreamError,
    WireError,
    reading,
    session_closed,
)
from harness_adapters.gateway.faults import Faults
from harness_adapters.gateway.forest import Forest
from harness_adapters.gateway.guard.ledger import Ledger
from harness_adapters.gateway.intake import Intake
from harness_adapters.gateway.judging import Judge, judge_reply
from harness_adapters.gateway.main_loop import MainLoop, Step
from harness_adapters.gateway.pace import Pace
from harness_adapters.gateway.replies import awaits as awaits_after
from harness_adapters.gateway.replies import budget_stop, compose, used_up
from harness_adapters.gateway.transcript import Transcript, Turn
from harness_adapters.types import AuxiliaryRequest, Flag, Limits, Sampling, TaskPolicy

if TYPE_CHECKING:
    from harness_adapters.gateway.upstream import Upstream

log = logging.getLogger(__name__)

UNDECLARED = "undeclared"
LAST_WORDS = 20  # requests past the budget that are told so as a reply
CLOSING_SECONDS = 1.0
PROBE_SECONDS = 30.0


class GatewaySession:
    """Opened by ``Gateway.open_session``.

    :ivar key: 128 random bits in hex: the API key, and the path segment for harnesses that lose
        keys.
    :ivar id: names the session in records and logs, where the key must not appear.
    :ivar model: the adapter name that every request is dispatched to.
    :ivar intake: reads the bodies of its requests.
    """

    def __init__(
        self,
        *,
        key: str,
        model: str,
        policy: TaskPolicy,
        limits: Limits,
        sampling: Sampling,
        auxiliary: tuple[AuxiliaryRequest, ...],
        require_tokens: bool,
        upstream: Upstream,
        guard: Judge,
        pace: Pace,
        on_close: Callable[[GatewaySession], None],
    ) -> None:
        self.key = key
        self.id = hashlib.sha256(key.encode()).hexdigest()[:16]
        self.model = model
        self.closed = False
        self._limits = limits
        self._sampling = sampling
        self._auxiliary = auxiliary
        self._require_tokens = require_tokens
        self._upstream = upstream
        self._guard = guard
        self._pace = pace
        self._on_close = on_close
        self._ledger = Ledger(policy)
        self.intake = Intake()
        self._judging = asyncio.Lock()
        self._in_flight: set[asyncio.Task[ModelReply]] = set()
        self._connections: set[asyncio.Transport] = set()
        self._requests = 0
        self._estimates = 0
        self._refused = 0
        self._tools: Mapping[str, dict[str, Any]] = {}
        self._tool_names: Set[str] = frozenset()
        self._main_loop = MainLoop()
        self._sides: Counter[str] = Counter()
        self._turns: list[Turn] = []
        self._undelivered: set[int] = set()
        self._forest = Forest()
        self._main, self._side = Conversations(), Conversations()
        self._calls = SampledCalls()
        self._replies: dict[bytes, ModelReply] = {}
        self._flags: set[Flag] = set()
        self._faults = Faults(self._main_loop, self._engine_is_well)
        self._guard_faults: list[str] = []

    @property
    def path(self) -> str:
        """Path prefix, without ``/v1``."""
        return f"/s/{self.key}"

    def transcript(self) -> Transcript:
        """What has been committed so far. Upstream faults that a later success made good are not
        in it."""
        main = [turn for turn in self._turns if not turn.auxiliary]
        turns = list(self._turns)
        for index in self._undelivered:
            turns[index] = replace(turns[index], delivered=False)
        return Transcript(
            turns=tuple(turns),
            tools=tuple(self._tools.values()),
            token_exact=bool(main)
            and Flag.EVAL_ONLY not in self._flags
            and all(turn.sampled_ids for turn in main),
            flags=frozenset(self._flags),
            faults=self._faults.all(),
            guard_faults=tuple(self._guard_faults),
            refused=self._refused,
        )

    def close(self) -> None:
        """End it: work under way is cancelled and commits nothing; later requests get 401, and
        connections that do not take even that are cut."""
        self.closed = True
        self._on_close(self)
        self.intake.close()
        for task in self._in_flight:
            task.cancel()
        if self._connections:
            asyncio.get_running_loop().call_later(CLOSING_SECONDS, self._cut)

    async def settle(self) -> None:
        """After ``close``: find out whether a reply that never came is the engine's fault. Takes
        no time unless one was awaited."""
        await asyncio.gather(*self._in_flight, return_exceptions=True)
        await self._faults.settle()

    def _cut(self) -> None:
        for connection in self._connections:
            connection.abort()

    @contextmanager
    def attend(self, connection: asyncio.Transport | None) -> Iterator[None]:
        """While a request of this session is served."""
        if connection is None:
            raise ConnectionResetError("the client has left")
        self._connections.add(connection)
        try:
            yield
        finally:
            self._connections.discard(connection)

    def admit(self) -> bool:
        """Count a request, before anything of its body is read; whether it is within the budget.

        :raises Refused: it is far beyond: the harness does not take the end for an answer.
        """
        self._requests += 1
        if self._requests <= self._limits.max_requests:
            return True
        self._refused += 1
        self._flags.add(Flag.BUDGET_STOP)
        if self._requests > self._limits.max_requests + LAST_WORDS:
            raise used_up()
        return False

    def admit_estimate(self) -> None:
        """Count a request that the engine has no part in.

        :raises Refused: there were more than any session needs.
        """
        self._estimates += 1
        if self._estimates > self._limits.max_requests + LAST_WORDS:
            raise used_up()

    def start(
        self,
        request: ModelRequest,
        *,
        envelope: Envelope,
        digest: bytes,
        retry: bool,
        in_budget: bool,
    ) -> asyncio.Task[ModelReply]:
        """Answer a request in a task of its own; cancelling it cancels the engine's work.

        :param digest: of the request's bytes.
        :param retry: the client says that it sends the same request again.
        :param in_budget: what ``admit`` said of it.
        :raises Refused: the session is closed.

        The task raises ``Refused``, ``UpstreamError`` or ``TokenError``.
        """
        if self.closed:  # while the request's body was still coming in
            raise session_closed()
        if not in_budget:
            answer = budget_stop(envelope)
        else:
            answer = self._answer(request, envelope, digest, retry)
        task = asyncio.ensure_future(answer)
        self._in_flight.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[ModelReply]) -> None:
        self._in_flight.discard(task)
        # asked for even when nobody else does: the client may be gone
        error = None if task.cancelled() else task.exception()
        if error is not None and not isinstance(error, WireError):
            log.error("%s: the gateway failed on a request", self.id, exc_info=error)

    def delivered(self, reply: ModelReply) -> None:
        """The harness was sent the whole of a reply."""
        if reply.turn is not None:
            self._undelivered.discard(reply.turn)
            self._main_loop.arrived(reply.turn)

    async def _answer(
        self, request: ModelRequest, envelope: Envelope, digest: bytes, retry: bool
    ) -> ModelReply:
        # Asked for anew, so an earlier reply is no longer what a retry of this would be about.
        stored = self._replies.get(digest) if retry else self._replies.pop(digest, None)
        if retry and stored:
            return stored
        with reading("the request"):
            standing = self._standing(request)
            restored = self._calls.restore(request.messages)
            if restored is not request.messages:
                request = replace(request, messages=restored)
            body = engine_body(
                request, model=self.model, sampling=self._sampling, limits=self._limits
            )
        if request.model != self.model:
            log.info("%s: asked for model %r, served %r", self.id, request.model, self.model)
        try:
            return await self._turn(body, request, standing, envelope, digest)
        except Refused:
            raise
        except asyncio.CancelledError:
            if isinstance(standing, Step):
                self._faults.left(standing)
            raise
        except Exception as error:
            if isinstance(standing, Step):
                await self._faults.note(error, standing)
            raise

    async def _turn(
        self,
        body: bytes,
        request: ModelRequest,
        standing: Step | str,
        envelope: Envelope,
        digest: bytes,
    ) -> ModelReply:
        """Have the engine answer, judge it, and commit it."""
        started, clock = time.time(), time.perf_counter()
        raw = await self._upstream.complete(body)
        await self._pace.turn()
        completion = read_completion(raw)
        tokens = self._tokens(raw, trained=isinstance(standing, Step))
        del raw  # the largest thing at hand; judging may take a while
        async with self._judging:
            if self._tools and not request.tools and isinstance(standing, Step):
                standing = self._disown()  # dispatched before the main loop showed its tools
            auxiliary = "" if isinstance(standing, Step) else standing
            histories = self._side if auxiliary else self._main
            continued = histories.find(request.messages)
            new_messages = request.messages[continued.length :]
            doubtful = isinstance(standing, Step) and self._main_loop.in_doubt(standing)
            self._ledger.see_request(
                tools=request.tools,
                new_messages=() if auxiliary or doubtful else self._trusted(new_messages),
            )
            judged = await judge_reply(completion, guard=self._guard, ledger=self._ledger)
            reply = compose(envelope, completion, judged, tokens, turn=len(self._turns))
            # From here to the end nothing is awaited: the turn is whole, or it is not there.
            if isinstance(standing, Step):
                awaits = awaits_after(completion, judged)
                index = len(self._turns)
                self._main_loop.commit(index, standing, request, reply.message, awaits=awaits)
                self._faults.make_good()
            elif auxiliary != UNDECLARED:
                self._main_loop.hand_on(completion.content or "")
                self._sides[auxiliary] += self._main_loop.sealed
                doubtful = self._sides[auxiliary] > 1  # a harness asks once in a session
            if doubtful:
                self._flags.add(Flag.UNDECLARED_REQUEST)
            histories.add(request.messages, continued)
            parent, new_ids = self._place(tokens, auxiliary)
            self._turns.append(
                Turn(
                    index=len(self._turns),
                    new_messages=tuple(new_messages),
                    reply=reply.message,
                    parent=parent,
                    new_prompt_ids=new_ids,
                    sampled_ids=tokens.sampled if tokens else array("i"),
                    logprobs=tokens.logprobs if tokens else array("f"),
                    calls=judged.calls,
                    model=self.model,
                    auxiliary=auxiliary,
                    finish=completion.finish,
                    started=started,
                    seconds=time.perf_counter() - clock,
                    usage={k: v for k, v in reply.usage.items() if isinstance(v, int)},
                )
            )
            self._undelivered.add(len(self._turns) - 1)  # until it is written
            self._replies[digest] = reply
            self._calls.add(reply.message)
            self._guard_faults.extend(judged.guard_faults)
            if judged.malformed:
                self._flags.add(Flag.MALFORMED_CALL)
        return reply

    def _standing(self, request: ModelRequest) -> Step | str:
        """The request's place in the harness's own conversation, or the name of the declared side
        request that it is. Whatever else asks for a model from inside the sandbox does not belong
        to the policy under training.

        :raises Refused: it is neither.
        """
        step = None
        if request.tools:
            if not self._tools:
                self._tools = request.tools
                self._tool_names = request.tools.keys() - request.added
                self._disown_turns()
            if self._tool_names == request.tools.keys() - request.added:
                step = self._main_loop.place(request)
        else:
            system = request.system_text
            for known in self._auxiliary:
                if known.system_contains in system:
                    return known.name
            if not self._tools:
                step = self._main_loop.place(request)
        if step is None:
            self._refused += 1
            self._flags.add(Flag.UNDECLARED_REQUEST)
            raise Refused(
                "this request is not one that the harness is declared to make",
                status=403,
                code="undeclared_request",
            )
        return step

    def _trusted(self, new_messages: Sequence[Message]) -> Sequence[Message]:
        """What the ledger may learn from. System and user speak before anything but the harness
        runs in the sandbox; later on only tools do, and their results are what they are."""
        if not self._main_loop.sealed:
            return new_messages
        return [message for message in new_messages if message["role"] == "tool"]

    async def _engine_is_well(self) -> bool:
        """Whether it answers a request that nobody in the sandbox had a part in."""
        probe = ModelRequest(
            model=self.model, messages=[{"role": "user", "content": "Hello"}], max_tokens=1
        )
        body = engine_body(probe, model=self.model, sampling=self._sampling, limits=self._limits)
        try:
            async with asyncio.timeout(PROBE_SECONDS):
                read_completion(await self._upstream.complete(body))
        except (UpstreamError, TimeoutError):
            return False
        return True

    def _disown_turns(self) -> None:
        for index, turn in enumerate(self._turns):
            if not turn.auxiliary:
                self._turns[index] = replace(turn, auxiliary=self._disown())

    def _disown(self) -> str:
        """What was served before the main loop showed its tools was somebody else's."""
        self._flags.add(Flag.UNDECLARED_REQUEST)
        return UNDECLARED

    def _tokens(self, raw: Mapping[str, Any], *, trained: bool) -> Tokens | None:
        """:raises TokenError: they are unusable in a session that requires them."""
        if Flag.EVAL_ONLY in self._flags:
            return None
        try:
            self._upstream.check_logprobs()
            return read_tokens(raw)
        except TokenError as error:
            if not trained:
                return None
            if self._require_tokens:
                raise
            self._flags.add(Flag.EVAL_ONLY)
            self._upstream.warn_eval_only(str(error))
            return None

    def _place(self, tokens: Tokens | None, auxiliary: str) -> tuple[int | None, array[int]]:
        if tokens is None:
            return None, array("i")
        if auxiliary:
            return None, tokens.prompt
        parent, new = self._forest.place(tokens.prompt)
        self._forest.add(len(self._turns), parent, new, tokens.sampled)
        return parent, new
