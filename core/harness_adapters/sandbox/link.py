"""The connection to a supervisor: channels over the standard streams of its process."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Protocol

from harness_adapters.errors import InfraError
from harness_adapters.sandbox.inside import wire

_READ = 1 << 18
_COMPLAINT = 4096
_OPEN_SECONDS = 30.0
_CLOSE_SECONDS = 10.0

Receive = Callable[[int, bytes], None]
Lost = Callable[[Exception], None]


class LinkLost(InfraError):
    """The supervisor went away."""


class Input(Protocol):
    """A supervisor's standard input, such as an ``asyncio.StreamWriter``."""

    def write(self, data: bytes, /) -> None: ...

    async def drain(self) -> None: ...

    def close(self) -> None: ...


class Process(Protocol):
    """What runs a supervisor, such as an ``asyncio.subprocess.Process``."""

    @property
    def returncode(self) -> int | None: ...

    async def wait(self) -> int: ...

    def kill(self) -> None: ...


class Channel:
    """One request and what belongs to it."""

    def __init__(self, link: Link, number: int) -> None:
        self._link = link
        self._number = number

    async def send(self, kind: int, payload: bytes = b"") -> None:
        """:raises LinkLost: the supervisor went away."""
        self.post(kind, payload)
        await self._link.drain()

    def post(self, kind: int, payload: bytes = b"") -> None:
        """Send something small without waiting."""
        self._link.write(wire.frame(self._number, kind, payload))

    def close(self) -> None:
        self._link.close_channel(self._number)


class Link:
    """A started supervisor.

    :raises LinkLost: by everything, once the supervisor went away without being asked to.
    """

    def __init__(
        self,
        process: Process,
        stdin: Input,
        stdout: asyncio.StreamReader,
        stderr: asyncio.StreamReader,
    ) -> None:
        self._process = process
        self._stdin, self._stdout, self._stderr = stdin, stdout, stderr
        self._channels: dict[int, tuple[Receive, Lost]] = {}
        self._numbers = iter(range(1, 1 << 32))
        self._complaint = bytearray()
        self._lost: LinkLost | None = None
        self._tasks = (
            asyncio.create_task(self._read_frames()),
            asyncio.create_task(self._read_complaints()),
        )

    @classmethod
    async def start(cls, argv: Sequence[str], pass_fds: Sequence[int] = ()) -> Link:
        """Start a supervisor in a session of its own, where a terminal's Ctrl-C does not reach it.

        :raises OSError: the program cannot be started.
        """
        process = await asyncio.create_subprocess_exec(
            *argv,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            pass_fds=pass_fds,
            start_new_session=True,
            env={},
            limit=_READ,
        )
        assert process.stdin and process.stdout and process.stderr
        return cls(process, process.stdin, process.stdout, process.stderr)

    async def configure(self, payload: bytes) -> int:
        """Tell the supervisor what the sandbox is; the port of its forwarder.

        :raises InfraError: it did not make the sandbox in time.
        """
        ready: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

        def receive(kind: int, answer: bytes) -> None:
            if not ready.done():
                ready.set_result(answer)

        def lost(error: Exception) -> None:
            if not ready.done():
                ready.set_exception(error)

        with self.channel(receive, lost) as channel:
            try:
                async with asyncio.timeout(_OPEN_SECONDS):
                    await channel.send(wire.CONFIGURE, payload)
                    return int(await ready)
            except TimeoutError:
                raise InfraError(f"no sandbox within {_OPEN_SECONDS:g} s") from None

    async def close(self) -> None:
        """End the supervisor, and with it all that runs there; more than once is no error.

        One that does not end by itself, on a busy machine or with much to end, is killed.
        """
        self._stdin.close()
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(_CLOSE_SECONDS):
                    await self._process.wait()
        finally:
            if self._process.returncode is None:
                with suppress(ProcessLookupError):
                    self._process.kill()
                await self._process.wait()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    def open_channel(self, receive: Receive, lost: Lost) -> Channel:
        number = next(self._numbers)
        if self._lost is not None:
            raise self._lost
        self._channels[number] = (receive, lost)
        return Channel(self, number)

    @contextmanager
    def channel(self, receive: Receive, lost: Lost) -> Iterator[Channel]:
        channel = self.open_channel(receive, lost)
        try:
            yield channel
        finally:
            channel.close()

    def close_channel(self, number: int) -> None:
        self._channels.pop(number, None)

    def write(self, data: bytes) -> None:
        if self._lost is not None:
            raise self._lost
        self._stdin.write(data)

    async def drain(self) -> None:
        try:
            await self._stdin.drain()
        except ConnectionError:
            await asyncio.wait(self._tasks)
            raise (self._lost or LinkLost("the sandbox went away")) from None

    async def _read_frames(self) -> None:
        decoder = wire.Decoder()
        trouble = ""
        try:
            while data := await self._stdout.read(_READ):
                for number, kind, payload in decoder.feed(data):
                    if handlers := self._channels.get(number):
                        handlers[0](kind, payload)
        except (wire.ProtocolError, ValueError) as error:
            trouble = f"{error}; "
            self._process.kill()
        await asyncio.wait([self._tasks[1]])
        complaint = bytes(self._complaint).decode(errors="replace").strip().replace("\n", " | ")
        self._lost = LinkLost(f"the sandbox went away: {trouble}{complaint or 'it said nothing'}")
        for _, lost in list(self._channels.values()):
            lost(self._lost)

    async def _read_complaints(self) -> None:
        while data := await self._stderr.read(_COMPLAINT):
            self._complaint += data
            del self._complaint[:-_COMPLAINT]
