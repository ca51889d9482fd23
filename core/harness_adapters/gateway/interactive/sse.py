"""Server-sent events, read from any split of their bytes, and written in one strict form."""

from __future__ import annotations

from dataclasses import dataclass

from harness_adapters.gateway.failures import UpstreamError

MAX_EVENT_BYTES = 32 * 1024 * 1024
_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class SseEvent:
    """:ivar event: its name, or ``""``.
    :ivar data: the data lines, joined by newlines; not decoded.
    """

    event: str
    data: bytes


class SseParser:
    """Reads a stream as the HTML standard says: lines end in LF, CRLF or CR, comments and unknown
    fields are skipped, data lines are joined, a blank line ends an event.

    An event that the end of the stream cuts off is an event here, since lax clients take it for
    one; whoever reads it decides what a half object means.
    """

    def __init__(self, *, limit: int = MAX_EVENT_BYTES) -> None:
        self._limit = limit
        self._line = bytearray()
        self._after_cr = False
        self._started = False
        self._event = ""
        self._data: list[bytes] = []
        self._size = 0

    def feed(self, chunk: bytes) -> list[SseEvent]:
        """The events that end in these bytes.

        :raises UpstreamError: an event is larger than the limit.
        """
        if self._after_cr and chunk:
            self._after_cr = False
            chunk = chunk.removeprefix(b"\n")
        self._after_cr = self._after_cr or chunk.endswith(b"\r")
        *lines, rest = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        found: list[SseEvent] = []
        for line in lines:
            self._line += line
            self._take_line(found)
        self._line += rest
        self._check_size()
        return found

    def end(self) -> list[SseEvent]:
        """The stream is over: the event that was not finished, if it held anything."""
        found: list[SseEvent] = []
        if self._line:
            self._take_line(found)
        self._dispatch(found)
        return found

    def _take_line(self, found: list[SseEvent]) -> None:
        self._check_size()
        line = bytes(self._line)
        self._line.clear()
        if not self._started:
            self._started = True
            line = line.removeprefix(_BOM)
        if not line:
            self._dispatch(found)
            return
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data":
            self._data.append(value)
            self._size += len(value) + 1
        elif name == b"event":
            self._event = value.decode(errors="replace")

    def _dispatch(self, found: list[SseEvent]) -> None:
        if self._data:
            found.append(SseEvent(self._event, b"\n".join(self._data)))
        self._event = ""
        self._data.clear()
        self._size = 0

    def _check_size(self) -> None:
        if self._size + len(self._line) > self._limit:
            raise UpstreamError(f"the upstream sent an event of more than {self._limit} bytes")


def encode(data: bytes, event: str = "") -> bytes:
    """One event. ``data`` is JSON on one line, or a mark such as ``[DONE]``.

    :raises UpstreamError: the name is no plain text. Names come from the upstream too, and one with
        a line break in it would smuggle in an event that nobody has judged.
    """
    if not (event.isascii() and event.isprintable()):
        raise UpstreamError("the upstream sent an event with a name that cannot be one")
    name = f"event: {event}\n".encode() if event else b""
    return name + b"data: " + data + b"\n\n"


COMMENT = b": keep-alive\n\n"
