"""Frames between the host and the supervisor inside a sandbox.

A frame is a header (channel, kind, length) and a payload. A channel is one request of the host
and everything that belongs to it; channel 0 is the supervisor's start. Structured payloads are
lists of byte strings, each with its length in front, so that file names and arguments of any bytes
need no escaping.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

HEADER = struct.Struct("!IBI")
LENGTH = struct.Struct("!I")
CHUNK = 1 << 16
MAX_PAYLOAD = 1 << 24  # the longest argument list that Linux takes fits in

# host -> supervisor
CONFIGURE = 1  # see supervisor.Configuration; answered by READY
EXEC = 2  # user, cwd, max_output ("" is no limit), env list, argv list; answered by EXIT at the end
STDIN = 3  # at most CHUNK bytes; the next only after STDIN_TAKEN
STDIN_EOF = 4
KILL = 5  # the program of this channel and everything that it started
PAUSE = 6  # send no more output of this channel
RESUME = 7
PUT = 8  # user, folder; then FILE and DATA frames; END is answered by DONE or FAILED
READ = 9  # path, max_bytes; answered by DATA frames, then DONE or FAILED
TREE = 10  # path, max_bytes, max_files; answered by FILE and DATA frames, then DONE or FAILED
FREEZE = 11  # answered by DONE

# both ways
FILE = 20  # relative path, mode; its content follows as DATA
DATA = 21
END = 22

# supervisor -> host
READY = 30  # port of the forwarder, 0 for none
STDOUT = 31
STDERR = 32
STDIN_TAKEN = 33
EXIT = 34  # returncode, 1 when output was thrown away
DONE = 35  # 1 when READ found the file
FAILED = 36  # AGENT or INFRA, message

# how files of ``User.OWNER`` are kept from being changed inside
SEAL_BY_OWNER = b"owner"  # they belong to a uid that no program has
SEAL_BY_MOUNT = b"mount"  # their folder is a read-only mount
SEAL_BY_MODE = b"mode"  # no write permission, which programs could give back

AGENT = b"agent"  # the programs inside caused the failure
INFRA = b"infra"

Frame = tuple[int, int, bytes]


class ProtocolError(Exception):
    """The other side sent something that is no frame."""


def frame(channel: int, kind: int, payload: bytes = b"") -> bytes:
    """:raises ValueError: the payload is longer than ``MAX_PAYLOAD``."""
    if len(payload) > MAX_PAYLOAD:
        raise ValueError(f"{len(payload)} bytes are too much for one order to a sandbox")
    return HEADER.pack(channel, kind, len(payload)) + payload


def pack(*fields: bytes) -> bytes:
    return b"".join(LENGTH.pack(len(field)) + field for field in fields)


def unpack(payload: bytes) -> list[bytes]:
    """The fields of a structured payload.

    :raises ProtocolError: it is not one.
    """
    fields: list[bytes] = []
    at = 0
    while at < len(payload):
        start = at + LENGTH.size
        if start > len(payload):
            raise ProtocolError("a field's length is cut off")
        at = start + LENGTH.unpack_from(payload, start - LENGTH.size)[0]
        if at > len(payload):
            raise ProtocolError("a field is cut off")
        fields.append(payload[start:at])
    return fields


class Decoder:
    """Cuts a byte stream into frames, however it is split on the way."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> Iterator[Frame]:
        """The frames that are whole now.

        :raises ProtocolError: a frame is longer than ``MAX_PAYLOAD``.
        """
        buffer = self._buffer
        buffer += data
        at = 0
        while len(buffer) - at >= HEADER.size:
            channel, kind, length = HEADER.unpack_from(buffer, at)
            if length > MAX_PAYLOAD:
                raise ProtocolError(f"a frame of {length} bytes")
            end = at + HEADER.size + length
            if len(buffer) < end:
                break
            yield channel, kind, bytes(memoryview(buffer)[at + HEADER.size : end])
            at = end
        del buffer[:at]
