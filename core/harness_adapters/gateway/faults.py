"""Which failures make a session unscorable: those that nobody in the sandbox can have caused.

A losing policy would like its session tried again. So a fault counts when it kept the harness from
its next reply, and an engine that fails on one request and answers others is at no fault. Nor is
one that was still at work on a reply when the session ended, if it answers others.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress

from harness_adapters.gateway.failures import TokenError, UpstreamError
from harness_adapters.gateway.main_loop import MainLoop, Step


class Faults:
    """The faults of one session.

    :param engine_is_well: whether the engine answers a request that nobody in the sandbox had a
        part in.
    """

    def __init__(self, loop: MainLoop, engine_is_well: Callable[[], Awaitable[bool]]) -> None:
        self._loop = loop
        self._engine_is_well = engine_is_well
        self._lasting: list[str] = []
        self._unresolved: list[str] = []
        self._awaited = False

    def all(self) -> tuple[str, ...]:
        """One line each."""
        return (*self._lasting, *self._unresolved)

    async def note(self, error: Exception, step: Step) -> None:
        """A request of the main loop has failed."""
        if self._loop.in_doubt(step) or self._loop.has_gone_on(step):
            return
        if isinstance(error, TokenError):
            self._lasting.append(f"tokens: {error}")
        elif not isinstance(error, UpstreamError):
            self._lasting.append(f"gateway: {type(error).__name__}: {error}")
        elif error.infra:
            fault = f"upstream: {error}"
            self._unresolved.append(fault)
            if self._loop.sealed and error.answered and await self._engine_is_well():
                with suppress(ValueError):  # made good meanwhile
                    self._unresolved.remove(fault)

    def left(self, step: Step) -> None:
        """The harness, or the whole session, was gone before a request of the main loop had its
        answer."""
        self._awaited |= not (self._loop.in_doubt(step) or self._loop.has_gone_on(step))

    def make_good(self) -> None:
        """The main loop has gone on: what the engine failed on before is forgotten."""
        self._unresolved.clear()
        self._awaited = False

    async def settle(self) -> None:
        """The session is over: an engine that owes it a reply, and has none for others, is
        silent."""
        if self._awaited and not self._unresolved and not await self._engine_is_well():
            self._unresolved.append("upstream: the engine is silent")
