"""The processes of a benchmark. Each answers lines of JSON with lines of JSON, and ends when its
standard input does, as it does with the life of whoever started it."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import orjson
import uvloop
from aiohttp import web

from harness_adapters.errors import InfraError

ANSWER_SECONDS = 300.0
STOP_SECONDS = 5.0
PAGE = os.sysconf("SC_PAGE_SIZE")
TICKS = os.sysconf("SC_CLK_TCK")
Json = dict[str, Any]


class Child:
    """A process of a benchmark, as its owner sees it; a context manager.

    :param command: what to run; its first line of output says that it is ready.
    :ivar ready: that line.
    :raises InfraError: it does not start.
    """

    def __init__(
        self, command: Sequence[str], environment: Mapping[str, str] | None = None
    ) -> None:
        self._name = " ".join(command[1:4])
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **(environment or {})},
        )
        try:
            self.ready = self._answer()
        except InfraError:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def url(self) -> str:
        return str(self.ready["url"])

    def ask(self, **question: Any) -> Json:
        """:raises InfraError: it ended, or does not answer."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(orjson.dumps(question) + b"\n")
            self._process.stdin.flush()
        except OSError as error:
            raise InfraError(f"{self._name} has ended: {error}") from error
        return self._answer()

    def resident_bytes(self) -> int:
        """Memory that it holds now."""
        statm = Path(f"/proc/{self._process.pid}/statm").read_text()
        return int(statm.split()[1]) * PAGE

    def cpu_seconds(self) -> float:
        """CPU time that it has used so far, which other load on the machine hardly changes."""
        stat = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(stat[11]) + int(stat[12])) / TICKS

    def interrupt(self) -> None:
        """End one that does not watch its standard input, as Ctrl-C does."""
        self._process.send_signal(signal.SIGINT)
        self.close()

    def close(self) -> None:
        if self._process.stdin is not None:
            self._process.stdin.close()
        try:
            self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()

    def _answer(self) -> Json:
        assert self._process.stdout is not None
        watchdog = threading.Timer(ANSWER_SECONDS, self._process.kill)
        watchdog.start()
        try:
            line = self._process.stdout.readline()
        finally:
            watchdog.cancel()
        if not line:
            raise InfraError(f"{self._name} ended, or did not answer in {ANSWER_SECONDS:.0f} s")
        answer: Json = orjson.loads(line)
        return answer


def python_child(module: str, *arguments: str) -> Child:
    """A module of this package as a process of its own."""
    return Child([sys.executable, "-m", f"harness_adapters.bench.{module}", *arguments])


# --- inside a child -----------------------------------------------------------------------------


def say(answer: Json) -> None:
    sys.stdout.buffer.write(orjson.dumps(answer) + b"\n")
    sys.stdout.buffer.flush()


async def answer_lines(answer: Callable[[Json], Awaitable[Json]]) -> None:
    """Answer each line of standard input, until it ends."""
    reader = asyncio.StreamReader(limit=1 << 26)
    await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), sys.stdin
    )
    while line := await reader.readline():
        say(await answer(orjson.loads(line)))


def serve_app(app: web.Application) -> None:
    """Serve on a free loopback port, say its URL, and end with standard input."""

    async def serve() -> None:
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await runner.setup()
        try:
            await web.TCPSite(runner, "127.0.0.1", 0, backlog=2048).start()
            say({"url": f"http://127.0.0.1:{runner.addresses[0][1]}"})
            await answer_lines(_nothing)
        finally:
            await runner.cleanup()

    uvloop.run(serve())


async def _nothing(question: Json) -> Json:
    return {}
