"""Keeps a burst from holding up everything else: health checks, keep-alives, other sessions."""

from __future__ import annotations

import asyncio
from collections import deque

AT_ONCE = 8  # of about a millisecond each


class Pace:
    """Lets a few pieces of work begin in each round of the event loop, first come first served;
    without a crowd nobody waits."""

    def __init__(self) -> None:
        self._left = AT_ONCE
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def turn(self) -> None:
        """Wait until a piece of work that awaits nothing may begin."""
        loop = asyncio.get_running_loop()
        if self._left == 0:
            let_in = loop.create_future()
            self._waiting.append(let_in)
            await let_in
            return
        if self._left == AT_ONCE:
            loop.call_soon(self._next_round)
        self._left -= 1

    def _next_round(self) -> None:
        self._left = AT_ONCE
        while self._left and self._waiting:
            let_in = self._waiting.popleft()
            if not let_in.done():  # else it is leaving
                let_in.set_result(None)
                self._left -= 1
        if self._left < AT_ONCE:
            asyncio.get_running_loop().call_soon(self._next_round)
