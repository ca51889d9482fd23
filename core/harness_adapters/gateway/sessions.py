"""One session at the wire: its pinned model and sampling, its budget, and what it leaves."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import secrets
import time
from array import array
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from harness_adapters.gateway import notice
from harness_adapters.gateway.capture import Tokens, read_tokens
from harness_adapters.gateway.completions import Completion, engine_body, read_completion
from harness_adapters.gateway.conversation import Conversations
from harness_adapters.gateway.dialects.base import Envelope, ModelReply, ModelRequest
from harness_adapters.gateway.echoes import SampledCalls
from harness_adapters.gateway.failures import Refused, TokenError, UpstreamError, WireError
from harness_adapters.gateway.forest import Forest
from harness_adapters.gateway.guard.ledger import Ledger
from harness_adapters.gateway.judging import Judge, JudgedReply, judge_reply
from harness_adapters.gateway.transcript import Transcript, Turn
from harness_adapters.types import AuxiliaryRequest, Flag, Limits, Sampling, TaskPolicy

if TYPE_CHECKING:
    from harness_adapters.gateway.upstream import Upstream

log = logging.getLogger(__name__)

UNDECLARED = "undeclared"


class GatewaySession:
    """Opened by ``Gateway.open_session``.

    :ivar id: names the session in records and logs; no secret.
    :ivar key: 128 random bits in hex: the API key, and the path segment for harnesses that lose
        keys.
    :ivar id: names the session in records and logs, where the key must not appear.
    :ivar model: the adapter name that every request is dispatched to.
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
        on_close: Callable[[GatewaySession], None],
    ) -> None:
        self.id = secrets.token_hex(8)
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
        self._on_close = on_close
        self._ledger = Ledger(policy)
        self._judging = asyncio.Lock()
        self._in_flight: set[asyncio.Task[ModelReply]] = set()
        self._requests = 0
        self._refused = 0
        self._tools: Mapping[str, dict[str, Any]] = {}
        self._turns: list[Turn] = []
        self._forest = Forest()
        self._main, self._side = Conversations(), Conversations()
        self._calls = SampledCalls()
        self._replies: dict[bytes, ModelReply] = {}
        self._flags: set[Flag] = set()
        self._faults: list[str] = []
        self._unresolved: list[str] = []
        self._guard_faults: list[str] = []

    @property
    def path(self) -> str:
        """Path prefix, without ``/v1``."""
        return f"/s/{self.key}"

    def transcript(self) -> Transcript:
        """What has been committed so far. Upstream faults that a later success made good are not
        in it."""
        main = [turn for turn in self._turns if not turn.auxiliary]
        return Transcript(
            turns=tuple(self._turns),
            tools=tuple(self._tools.values()),
            token_exact=bool(main)
            and Flag.EVAL_ONLY not in self._flags
            and all(turn.sampled_ids for turn in main),
            flags=frozenset(self._flags),
            faults=(*self._faults, *self._unresolved),
            guard_faults=tuple(self._guard_faults),
            refused=self._refused,
        )

    def close(self) -> None:
        """End it: work under way is cancelled and commits nothing; later requests get 401."""
        self.closed = True
        self._on_close(self)
        for task in self._in_flight:
            task.cancel()

    def start(
        self, request: ModelRequest, *, envelope: Envelope, digest: bytes, retry: bool
    ) -> asyncio.Task[ModelReply]:
        """Answer a request in a task of its own; cancelling it cancels the engine's work.

        :param digest: of the request's bytes.
        :param retry: the client says that it sends the same request again.
        :raises Refused: the session is closed.

        The task raises ``Refused``, ``UpstreamError`` or ``TokenError``.
        """
        if self.closed:  # while the request's body was still coming in
            raise Refused("the session is closed", status=401, code="invalid_api_key")
        task = asyncio.ensure_future(self._answer(request, envelope, digest, retry))
        self._in_flight.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[ModelReply]) -> None:
        self._in_flight.discard(task)
        # asked for even when nobody else does: the client may be gone
        error = None if task.cancelled() else task.exception()
        if error is not None and not isinstance(error, WireError):
            log.error("%s: the gateway failed on a request", self.id, exc_info=error)
            self._faults.append(f"gateway: {type(error).__name__}: {error}")

    def delivered(self, reply: ModelReply) -> None:
        """The harness was sent the whole of a reply."""
        if reply.turn is not None:
            self._turns[reply.turn] = replace(self._turns[reply.turn], delivered=True)

    async def _answer(
        self, request: ModelRequest, envelope: Envelope, digest: bytes, retry: bool
    ) -> ModelReply:
        self._requests += 1
        if self._requests > self._limits.max_requests:
            self._refused += 1
            self._flags.add(Flag.BUDGET_STOP)
            return _plain(envelope, notice.BUDGET)
        # Asked for anew, so an earlier reply is no longer what a retry of this would be about.
        stored = self._replies.get(digest) if retry else self._replies.pop(digest, None)
        if retry and stored:
            return stored
        auxiliary = self._side_request(request)
        if request.model != self.model:
            log.info("%s: asked for model %r, served %r", self.id, request.model, self.model)
        request = replace(request, messages=self._calls.restore(request.messages))
        started, clock = time.time(), time.perf_counter()
        body = engine_body(request, model=self.model, sampling=self._sampling, limits=self._limits)
        try:
            raw = await self._upstream.complete(body)
            completion = read_completion(raw)
            tokens = self._tokens(raw)
        except UpstreamError as error:
            if error.infra and not auxiliary:
                self._unresolved.append(f"upstream: {error}")
            raise
        del raw  # the largest thing at hand; judging may take a while
        async with self._judging:
            if self._tools and not request.tools and not auxiliary:
                auxiliary = self._disown()  # dispatched before the main loop showed its tools
            histories = self._side if auxiliary else self._main
            continued = histories.find(request.messages)
            new_messages = request.messages[continued.length :]
            # An auxiliary request may be forged in the sandbox: the ledger learns nothing from it.
            self._ledger.see_request(
                tools=request.tools, new_messages=() if auxiliary else new_messages
            )
            judged = await judge_reply(completion, guard=self._guard, ledger=self._ledger)
            reply = _reply(envelope, completion, judged, tokens, turn=len(self._turns))
            # From here to the end nothing is awaited: the turn is whole, or it is not there.
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
                    delivered=False,  # until it is written
                )
            )
            self._replies[digest] = reply
            self._calls.add(reply.message)
            self._guard_faults.extend(judged.guard_faults)
            if judged.malformed:
                self._flags.add(Flag.MALFORMED_CALL)
            if not auxiliary:
                self._unresolved.clear()
        return reply

    def _side_request(self, request: ModelRequest) -> str:
        """Name of the declared side request that this is, or ``""`` for one of the main loop.

        The main loop's requests declare the session's tools; whatever else asks for a model from
        inside the sandbox does not belong to the policy under training.

        :raises Refused: it is neither.
        """
        if request.tools:
            if not self._tools:
                self._tools = request.tools
                for index, turn in enumerate(self._turns):
                    if not turn.auxiliary:
                        self._turns[index] = replace(turn, auxiliary=self._disown())
                return ""
            if not self._tools.keys().isdisjoint(request.tools):
                return ""
        else:
            system = request.system_text
            for known in self._auxiliary:
                if known.system_contains in system:
                    return known.name
            if not self._tools:
                return ""
        self._refused += 1
        self._flags.add(Flag.UNDECLARED_REQUEST)
        raise Refused(
            "this request is not one that the harness is declared to make",
            status=403,
            code="undeclared_request",
        )

    def _disown(self) -> str:
        """What was served before the main loop showed its tools was somebody else's."""
        self._flags.add(Flag.UNDECLARED_REQUEST)
        return UNDECLARED

    def _tokens(self, raw: Mapping[str, Any]) -> Tokens | None:
        """:raises TokenError: they are unusable in a session that requires them."""
        if Flag.EVAL_ONLY in self._flags:
            return None
        try:
            return read_tokens(raw)
        except TokenError as error:
            if self._require_tokens:
                self._faults.append(f"tokens: {error}")
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


def _plain(envelope: Envelope, text: str) -> ModelReply:
    message = {"role": "assistant", "content": text}
    usage = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
    return ModelReply(envelope=envelope, message=message, finish="stop", usage=usage)


def _reply(
    envelope: Envelope,
    completion: Completion,
    judged: JudgedReply,
    tokens: Tokens | None,
    *,
    turn: int,
) -> ModelReply:
    content = completion.content
    if judged.notice is not None:
        content = notice.with_notice(content, judged.notice)
    message: dict[str, Any] = {"role": "assistant", "content": content, **completion.reasoning}
    finish = completion.finish
    if judged.forwarded:
        message["tool_calls"] = [call.wire() for call in judged.forwarded]
        finish = "length" if finish == "length" else "tool_calls"
    elif finish == "tool_calls":
        finish = "stop"
    usage = completion.usage
    if not usage and tokens is not None:
        prompt, sampled = len(tokens.prompt), len(tokens.sampled)
        usage = {
            "prompt_tokens": prompt,
            "completion_tokens": sampled,
            "total_tokens": prompt + sampled,
        }
    return ModelReply(
        envelope=envelope,
        message=message,
        finish=finish,
        usage=usage,
        stop_sequence=completion.stop_sequence,
        turn=turn,
    )
