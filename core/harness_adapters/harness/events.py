"""Read a harness's event stream: one JSON object per line, from a writer that is not trusted."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any, Protocol

import orjson

MIB = 1024 * 1024


class ByteStream(Protocol):
    """What ``asyncio.StreamReader`` is here: bytes as they come, empty at the end."""

    async def read(self, n: int = -1) -> bytes: ...


class LineSplitter:
    """Bytes in any portions -> whole lines; a line above ``max_line`` bytes is dropped whole."""

    def __init__(self, *, max_line: int) -> None:
        self._max = max_line
        self._held = bytearray()
        self._skipping = False
        self.dropped = 0

    def feed(self, data: bytes) -> list[bytes]:
        """The lines that ``data`` completes, without their line ends."""
        *whole, rest = data.split(b"\n")
        lines = [line for part in whole if (line := self._close(part)) is not None]
        self._hold(rest)
        return lines

    def end(self) -> list[bytes]:
        """What is left after the last line end, as a line if there is anything."""
        line = self._close(b"")
        return [line] if line else []

    def _hold(self, part: bytes) -> None:
        if self._skipping:
            return
        self._held += part
        if len(self._held) > self._max:
            self._held.clear()
            self._skipping = True

    def _close(self, part: bytes) -> bytes | None:
        self._hold(part)
        line = None if self._skipping else bytes(self._held)
        self.dropped += self._skipping
        self._held.clear()
        self._skipping = False
        return line


async def read_events(
    stream: ByteStream, *, max_line: int = 8 * MIB
) -> AsyncIterator[tuple[dict[str, Any], bytes]]:
    """Each JSON object of the stream with its line; lines that hold no JSON object, and those
    above ``max_line`` bytes, are passed over."""
    splitter = LineSplitter(max_line=max_line)
    while data := await stream.read(65536):
        for line in splitter.feed(data):
            if (event := _parse(line)) is not None:
                yield event, line
    for line in splitter.end():
        if (event := _parse(line)) is not None:
            yield event, line


async def record_events(
    stream: ByteStream,
    see: Callable[[dict[str, Any]], object],
    file: Path,
    *,
    skip: frozenset[str] = frozenset(),
    max_bytes: int = 16 * MIB,
) -> None:
    """Show each event to ``see`` and keep its line in ``file``, up to ``max_bytes`` in all.

    :param skip: values of ``type`` that are seen but not kept.
    """
    left = max_bytes
    with file.open("wb") as kept:
        async for event, line in read_events(stream):
            see(event)
            if event.get("type") not in skip and len(line) < left:
                kept.write(line + b"\n")
                left -= len(line) + 1


def _parse(line: bytes) -> dict[str, Any] | None:
    try:
        event = orjson.loads(line)
    except orjson.JSONDecodeError:
        return None
    return event if isinstance(event, dict) else None
