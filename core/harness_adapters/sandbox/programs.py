"""A program in a sandbox, as the host sees it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Self

from harness_adapters.errors import InfraError
from harness_adapters.sandbox.inside import wire
from harness_adapters.sandbox.link import Link

_KILL_SECONDS = 20.0
_BUFFER = 1 << 22  # also the longest line that can be read as one

Output = Callable[[int, bytes], None]


class Program:
    """A running program; see ``base.SandboxProcess``.

    :param memory_kills: how many processes of the sandbox were killed for want of memory so far.
    :param output: takes what it writes, with ``wire.STDOUT`` or ``wire.STDERR``; without it,
        standard output goes to ``stdout`` with flow control, and standard error is thrown away.
    """

    def __init__(
        self, link: Link, memory_kills: Callable[[], int], output: Output | None = None
    ) -> None:
        self._channel = link.open_channel(self._receive, self._lost)
        self._exit: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._taken = asyncio.Event()
        self._taken.set()
        self._writing = asyncio.Lock()
        self._output = output
        self._stdout = asyncio.StreamReader(limit=_BUFFER)
        self._stdout.set_transport(_Pace(self))
        self._memory_kills = memory_kills
        self._kills_before = memory_kills()
        self.truncated = False
        self.out_of_memory = False

    async def start(self, order: bytes) -> None:
        await self._channel.send(wire.EXEC, order)

    @property
    def stdout(self) -> asyncio.StreamReader:
        return self._stdout

    @property
    def returncode(self) -> int:
        """How it ended; negative for a signal. Only once it has."""
        return self._exit.result()

    async def write(self, data: bytes) -> None:
        """Send to standard input. What nobody reads any more is dropped without an error."""
        async with self._writing:
            for start in range(0, len(data), wire.CHUNK):
                if self._exit.done():
                    return
                self._taken.clear()
                await self._channel.send(wire.STDIN, data[start : start + wire.CHUNK])
                await self._taken.wait()

    async def write_eof(self) -> None:
        if not self._exit.done():
            await self._channel.send(wire.STDIN_EOF)

    async def wait(self) -> int:
        return await asyncio.shield(self._exit)

    async def kill(self) -> None:
        """End it with everything it started, also what is left when it has ended itself.

        :raises InfraError: it could not be ended.
        """
        self._channel.post(wire.KILL)
        try:
            async with asyncio.timeout(_KILL_SECONDS):
                await self.wait()
        except TimeoutError:
            raise InfraError(f"a program could not be killed in {_KILL_SECONDS:g} s") from None

    def _receive(self, kind: int, payload: bytes) -> None:
        if kind == wire.STDIN_TAKEN:
            self._taken.set()
        elif kind in (wire.STDOUT, wire.STDERR):
            if self._output is not None:
                self._output(kind, payload)
            else:
                self._stdout.feed_data(payload)
        elif kind == wire.EXIT:
            returncode, truncated = wire.unpack(payload)
            self.truncated = truncated == b"1"
            self.out_of_memory = self._memory_kills() > self._kills_before
            self._end(lambda: self._exit.set_result(int(returncode)))
            self._channel.close()
        elif kind == wire.FAILED:
            _, message = wire.unpack(payload)
            self._lost(InfraError(f"cannot start a program: {message.decode(errors='replace')}"))

    def _lost(self, error: Exception) -> None:
        self._stdout.set_exception(error)
        self._end(lambda: self._exit.set_exception(error))
        self._exit.exception()  # whoever waits gets it; nobody has to

    def _end(self, settle: Callable[[], None]) -> None:
        if not self._exit.done():
            settle()
        self._stdout.feed_eof()
        self._taken.set()

    def pace(self, kind: int) -> None:
        if not self._exit.done():
            self._channel.post(kind)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._channel.close()


class _Pace(asyncio.ReadTransport):
    """Lets a stream reader slow down the program it reads from."""

    def __init__(self, program: Program) -> None:
        super().__init__()
        self._program = program

    def pause_reading(self) -> None:
        self._program.pace(wire.PAUSE)

    def resume_reading(self) -> None:
        self._program.pace(wire.RESUME)
