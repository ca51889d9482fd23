"""A container's standard streams, over the one connection that the engine gives for them.

What comes is cut into pieces: a byte for the stream, three empty ones, the length in four bytes,
the content (Docker Engine API, "Attach to a container"). What goes is the plain standard input.
"""

from __future__ import annotations

import asyncio
import struct

from harness_adapters.sandbox.link import Link

_HEADER = struct.Struct("!B3xI")
_STDOUT, _STDERR = 1, 2
_LIMIT = 1 << 18


class Attachment:
    """Serves a link as the process of its supervisor. Its end is the end of the container, or of
    the engine. The container's standard input ends with it, whoever ends it and however."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """:param reader: what comes after the engine's answer."""
        self._reader = reader
        self._writer = writer
        self.stdout = asyncio.StreamReader(limit=_LIMIT)
        self.stderr = asyncio.StreamReader(limit=_LIMIT)
        self._sorting = asyncio.create_task(self._sort())

    def link(self) -> Link:
        return Link(self, self, self.stdout, self.stderr)

    # --- as the input of a link -----------------------------------------------------------------

    def write(self, data: bytes) -> None:
        self._writer.write(data)

    async def drain(self) -> None:
        await self._writer.drain()

    def close(self) -> None:
        if not self._writer.is_closing():
            self._writer.write_eof()

    # --- as the process of a link ---------------------------------------------------------------

    @property
    def returncode(self) -> int | None:
        return 0 if self._sorting.done() else None

    async def wait(self) -> int:
        await asyncio.shield(self._sorting)
        return 0

    def kill(self) -> None:
        self._writer.transport.abort()

    async def _sort(self) -> None:
        streams = {_STDOUT: self.stdout, _STDERR: self.stderr}
        try:
            while True:
                number, length = _HEADER.unpack(await self._reader.readexactly(_HEADER.size))
                if number not in streams:
                    return  # no engine at the other end
                while length:
                    data = await self._reader.read(min(length, _LIMIT))
                    if not data:
                        return
                    length -= len(data)
                    streams[number].feed_data(data)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass  # nothing more comes; the link says what is missing
        finally:
            for stream in streams.values():
                stream.feed_eof()
            self._writer.close()
