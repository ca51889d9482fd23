"""An append-only log of JSON records with a checksum each: the truth of a run.

One line per record: eight hex digits of the CRC-32 of the JSON text, a space, the JSON, a newline.
A process that is killed while it appends leaves a torn last line, which the next opening cuts off
and reports; a damaged record before the last one is never cut, since what follows is still good.
"""

from __future__ import annotations

import fcntl
import json
import os
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import orjson

from harness_adapters.errors import BadInput


class Log:
    """A log open for appending, by this process alone.

    :ivar torn: bytes of a torn tail that were cut off.
    :raises BadInput: another process writes here, or a record before the last is damaged.
    """

    def __init__(self, path: Path) -> None:
        self._file: BinaryIO = path.open("ab")
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self.torn = _cut_torn_tail(path)
        except BlockingIOError:
            self._file.close()
            raise BadInput(f"another process is writing {path}; wait for it or stop it") from None
        except BaseException:
            self._file.close()
            raise

    def append(self, record: dict[str, Any]) -> None:
        """Write one record; it is on the disk when this returns."""
        self._file.write(encode(record))
        self._file.flush()
        os.fsync(self._file.fileno())

    def close(self) -> None:
        self._file.close()


def encode(record: dict[str, Any]) -> bytes:
    try:
        text = orjson.dumps(record)
    except TypeError:  # lone surrogates or huge integers in what a model sent; JSON can say both
        text = json.dumps(record, separators=(",", ":")).encode()
    return b"%08x %s\n" % (zlib.crc32(text), text)


def read(path: Path) -> Iterator[dict[str, Any]]:
    """All whole records, in order of writing; a torn tail is passed over.

    :raises BadInput: a record before the last is damaged.
    """
    for _, record in read_from(path, 0):
        yield record


def read_from(path: Path, offset: int) -> Iterator[tuple[int, dict[str, Any]]]:
    """The whole records behind an offset of a log that may still grow, each with the offset
    behind it, from which to go on later.

    :raises BadInput: a record before the last is damaged.
    """
    if not path.exists():
        return
    with path.open("rb") as file:
        file.seek(offset)
        for length, record in _whole_records(path, file):
            yield offset + length, record


def _whole_records(path: Path, file: BinaryIO) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yields the offset behind each whole record, and the record."""
    end = 0
    bad: int | None = None
    for number, line in enumerate(file, start=1):
        if bad is not None:
            raise BadInput(f"{path}: record {bad} is damaged; restore the file from a copy")
        record = _decode(line)
        if record is None:
            bad = number
            continue
        end += len(line)
        yield end, record


def _decode(line: bytes) -> dict[str, Any] | None:
    if not line.endswith(b"\n") or line[8:9] != b" ":
        return None
    text = line[9:-1]
    try:
        if int(line[:8], 16) != zlib.crc32(text):
            return None
    except ValueError:
        return None
    try:
        record = orjson.loads(text)
    except ValueError:
        record = json.loads(text)
    return record if isinstance(record, dict) else None


def _cut_torn_tail(path: Path) -> int:
    """Bytes cut off."""
    end = 0
    with path.open("rb") as file:
        for behind, _ in _whole_records(path, file):
            end = behind
    torn = path.stat().st_size - end
    if torn:
        os.truncate(path, end)
    return torn
