"""A model server as our own child process: started, watched, and gone when we are.

A child prints JSON lines on standard output: any number of ``{"progress": TEXT}``, then one
object with its ``url``. It ends when its standard input does, which happens when this process
ends, however that comes about. Bad input is a line on standard error and exit code 2.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
import threading
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import IO, Any

import orjson

from harness_adapters.errors import BadInput, InfraError

STOP_SECONDS = 5.0
BAD_INPUT = 2
TAIL_BYTES = 4096

Progress = Callable[[str], None]


@dataclass(frozen=True)
class Child:
    """:param ready: what it said once it answered, ``url`` among it."""

    process: asyncio.subprocess.Process
    ready: Mapping[str, Any]
    errors: IO[bytes] = field(repr=False)

    @property
    def url(self) -> str:
        return str(self.ready["url"])

    def alive(self) -> bool:
        return self.process.returncode is None

    async def wait(self) -> str:
        """Wait until it ends; returns in one line how it did."""
        await self.process.wait()
        return _how_it_ended(self.process, self.errors)


@asynccontextmanager
async def started(
    arguments: Sequence[str],
    *,
    first_line: bytes = b"",
    start_seconds: float,
    stop_seconds: float = STOP_SECONDS,
    progress: Progress | None = None,
) -> AsyncGenerator[Child]:
    """A child that answers while the context is open.

    :param arguments: for this Python.
    :param first_line: what it is to read first.
    :param start_seconds: how long it may take to answer, or to say what it does.
    :raises BadInput: it refuses what it was given.
    :raises InfraError: it does not start.
    """
    with tempfile.TemporaryFile() as errors:
        # Its standard input stays open as long as we live: that is how it notices our end.
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, *arguments),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=errors,
            # Ctrl-C in a terminal goes to the whole group; sessions still need their engine then.
            start_new_session=True,
        )
        try:
            ready = await _ready(process, errors, first_line, start_seconds, progress)
            yield Child(process, ready, errors)
        finally:
            await _stop(process, stop_seconds)


async def _ready(
    process: asyncio.subprocess.Process,
    errors: IO[bytes],
    first_line: bytes,
    seconds: float,
    progress: Progress | None,
) -> dict[str, Any]:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(first_line)
    while True:
        try:
            async with asyncio.timeout(seconds):
                line = await process.stdout.readline()
        except TimeoutError:
            raise InfraError(f"the engine did not start within {seconds:.0f} s") from None
        if not line:
            await process.wait()
            if process.returncode == BAD_INPUT:
                raise BadInput(_last_line(errors))
            how = _how_it_ended(process, errors)
            if process.returncode == -9:
                how += "; perhaps the machine ran out of memory"
            raise InfraError(f"the engine did not start ({how})")
        said: dict[str, Any] = orjson.loads(line)
        if "url" in said:
            return said
        if progress:
            progress(str(said["progress"]))


async def _stop(process: asyncio.subprocess.Process, seconds: float) -> None:
    if process.returncode is None:
        process.terminate()
        try:
            async with asyncio.timeout(seconds):
                await process.wait()
        except TimeoutError:
            process.kill()
    await process.wait()


def _how_it_ended(process: asyncio.subprocess.Process, errors: IO[bytes]) -> str:
    code = process.returncode
    how = f"signal {-code}" if code and code < 0 else f"exit code {code}"
    last = _last_line(errors)
    return f"{how}: {last}" if last else how


def _last_line(errors: IO[bytes]) -> str:
    size = errors.seek(0, os.SEEK_END)
    errors.seek(max(0, size - TAIL_BYTES))
    lines = errors.read().decode("utf-8", "replace").split("\n")
    return next((line for line in reversed(lines) if line.strip()), "")


# --- in the child ---------------------------------------------------------------------------------


def say(**said: Any) -> None:
    """One line for the parent."""
    sys.stdout.write(orjson.dumps(said).decode() + "\n")
    sys.stdout.flush()


def end_with_parent(then: Callable[[], None] = lambda: None) -> None:
    """End this process when standard input ends.

    :param then: what to do just before.
    """

    def watch() -> None:
        # Read the descriptor itself: an interpreter that shuts down must not find a lock held.
        while os.read(sys.stdin.fileno(), 4096):
            pass
        then()
        os._exit(0)

    threading.Thread(target=watch, daemon=True).start()
