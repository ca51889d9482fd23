"""Carries requests of the tests' sandbox to fresh worker processes in the code's sandbox."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from harness_adapters.errors import HarnessAdaptersError
from harness_adapters.sandbox.base import Sandbox, User
from harness_adapters.sandbox.reaper import leased_folder
from harness_adapters.tasks.subject.values import strict_loads

MAX_MESSAGE_BYTES = (1 << 20) + 1024
MAX_TIMEOUTS = 3
WORKER = Path(__file__).with_name("worker.py").read_text("utf-8")


class Relay:
    """One per test run. After three calls that hang, all later ones fail at once.

    :param call_seconds: for one call, start of the process included.
    :param before: Python source that every process runs first.
    """

    def __init__(self, *, call_seconds: float, before: str = "") -> None:
        self._before = before
        self._code: Sandbox | None = None
        self._import_from: list[str] = []
        self._call_seconds = call_seconds
        self._timeouts = 0

    def connect(self, code: Sandbox, import_from: Sequence[str]) -> None:
        """From now on calls are answered by this sandbox, which holds the tree.

        :param import_from: folders of the sandbox's spec that its modules are imported from.
        """
        self._code = code
        self._import_from = [code.path(folder) for folder in import_from]

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[Path]:
        """The unix socket, on the host, that the tests' sandbox has as its outlet."""
        with leased_folder("relay") as folder:
            path = folder / "socket"
            server = await asyncio.start_unix_server(self._serve, path=path)
            path.chmod(0o666)  # the folder is private; inside, it belongs to another uid
            try:
                yield path
            finally:
                server.close()
                await server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            reply = await self._answer(await _line(reader))
            writer.write(json.dumps(reply, allow_nan=False).encode() + b"\n")
            await writer.drain()
        except (OSError, EOFError, _TooLarge):
            pass  # the test run went away, or asks for too much: its call fails there
        finally:
            writer.close()

    async def _answer(self, line: bytes) -> dict[str, Any]:
        code = self._code
        if code is None or self._timeouts >= MAX_TIMEOUTS:
            return _no_answer("not called, since earlier calls hung")
        ours = {"import_from": self._import_from, "before": self._before}
        request = json.loads(line) | ours
        try:
            async with asyncio.timeout(self._call_seconds):
                reply = await self._ask(code, json.dumps(request).encode() + b"\n")
            return _checked(reply)
        except TimeoutError:
            self._timeouts += 1
            return _no_answer(f"no answer within {self._call_seconds:g} s")
        except EOFError:
            return _no_answer("its process ended without an answer")
        except _TooLarge:
            return _no_answer("its answer is larger than 1 MiB")
        except (ValueError, RecursionError) as error:
            return _no_answer(f"its answer is no strict JSON: {error}")
        except (HarnessAdaptersError, OSError) as error:
            # The sandbox took processes before the code ran in it, so the code is to blame.
            return _no_answer(f"its process could not be run: {error}")

    async def _ask(self, code: Sandbox, request: bytes) -> bytes:
        process = await code.spawn(["python3", "-I", "-B", "-c", WORKER], user=User.AGENT)
        try:
            await process.write(request)
            await process.write_eof()
            return await _line(process.stdout)
        finally:
            await process.kill()


class _TooLarge(Exception):
    pass


async def _line(reader: asyncio.StreamReader) -> bytes:
    """The first line, whatever the reader's own limit is; what follows is not read.

    :raises EOFError: the stream ended before.
    :raises _TooLarge: it is longer than ``MAX_MESSAGE_BYTES``.
    """
    found = bytearray()
    while not found.endswith(b"\n"):
        chunk = await reader.read(64 * 1024)
        if not chunk:
            raise EOFError
        line, newline, _ = chunk.partition(b"\n")
        found += line + newline
        if len(found) > MAX_MESSAGE_BYTES:
            raise _TooLarge
    return bytes(found)


def _checked(data: bytes) -> dict[str, Any]:
    match strict_loads(data):
        case {"value": value, **rest} if not rest:
            return {"value": value}
        case {
            "error": {"type": str(name), "bases": list(bases), "message": str(message), **more},
            **rest,
        } if not rest and not more and all(isinstance(base, str) for base in bases):
            return {"error": {"type": name, "bases": bases, "message": message}}
    raise ValueError("it has another form")


def _no_answer(message: str) -> dict[str, Any]:
    return {"error": {"type": "", "bases": [], "message": message}}
