"""A log file as a list of JSON objects, within fixed limits, mended where that is safe."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from harness_adapters.errors import UnreadableTrace

MAX_BYTES = 256 * 1024 * 1024
MAX_RECORDS = 500_000
MAX_DEPTH = 100

Record = dict[str, Any]

_ESCAPE = re.compile(r'\\(["\\/bfnrt]|u[0-9a-fA-F]{4})|\\')
_DECODER = json.JSONDecoder(strict=False)
_SPACE = re.compile(r"[ \t\r\n]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A file that was read. A file that is one JSON document has that one record.

    :param malformed: lines, or rests of lines, of which nothing could be made.
    :param repaired: lines with several objects, bad escapes or raw control characters.
    """

    path: Path
    records: list[Record]
    malformed: int = 0
    repaired: int = 0


def load(path: Path) -> Source:
    """Read a JSON, JSONL or parquet file.

    :raises UnreadableTrace: it is missing, too large, or holds not one JSON object.
    """
    data = _bytes(path)
    if data.startswith(b"PAR1"):
        return Source(path=path, records=_parquet(path))
    data = data.removeprefix(b"\xef\xbb\xbf")
    document = _document(data)
    if document is not None:
        records, malformed, repaired = document, 0, 0
    else:
        records, malformed, repaired = _lines(path, data)
    if not records:
        raise UnreadableTrace(f"{path}: there is no JSON object in it")
    return Source(path=path, records=records, malformed=malformed, repaired=repaired)


def _bytes(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise UnreadableTrace(f"cannot read {path}: {error.strerror}") from error
    except ValueError as error:  # a name with a null character
        raise UnreadableTrace(f"cannot read {str(path)!r}: {error}") from error
    if len(data) > MAX_BYTES:
        raise UnreadableTrace(f"{path} is larger than {MAX_BYTES} bytes")
    return data


def _document(data: bytes) -> list[Record] | None:
    """The file as one JSON value: an object, or a list of objects."""
    try:
        value: Any = orjson.loads(data)
    except ValueError:
        return None
    values = value if isinstance(value, list) else [value]
    if len(values) > MAX_RECORDS or not all(isinstance(one, dict) for one in values):
        return None
    return None if _too_deep(values) else values


def _lines(path: Path, data: bytes) -> tuple[list[Record], int, int]:
    records: list[Record] = []
    malformed = repaired = 0
    for line in data.split(b"\n"):
        if not line.strip():
            continue
        found, whole, mended = _objects(line)
        records += found
        malformed += not whole
        repaired += mended
        if len(records) > MAX_RECORDS:
            raise UnreadableTrace(f"{path} holds more than {MAX_RECORDS} records")
    return records, malformed, repaired


def _objects(line: bytes) -> tuple[list[Record], bool, bool]:
    """The objects of one line, whether that is all of it, and whether it had to be mended."""
    try:
        value = orjson.loads(line)
    except ValueError:
        pass
    else:
        fits = isinstance(value, dict) and not _too_deep(value)
        return ([value] if fits else []), fits, False
    text = line.decode("utf-8", "replace").strip()
    found: list[Record] = []
    at = 0
    try:
        for value, behind in _values(text):
            at = behind
            if isinstance(value, dict) and not _too_deep(value):
                found.append(_tidy(value))
    except (ValueError, RecursionError):
        escaped = _ESCAPE.sub(lambda m: m.group() if m.group(1) else r"\\", text[at:])
        try:
            for value, _ in _values(escaped):
                if isinstance(value, dict) and not _too_deep(value):
                    found.append(_tidy(value))
        except (ValueError, RecursionError):
            return found, False, False
    return found, bool(found), bool(found)


def _values(text: str) -> Iterator[tuple[Any, int]]:
    """JSON values that stand one behind the other, with the offset behind each.

    :raises ValueError: what follows is none.
    """
    at = 0
    while at < len(text):
        value, at = _DECODER.raw_decode(text, at)
        found = _SPACE.match(text, at)
        at = found.end() if found else at
        yield value, at


def _too_deep(value: Any) -> bool:
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [
            child
            for one in level
            for child in (one.values() if isinstance(one, dict) else one)
            if isinstance(child, (dict, list))
        ]
        if not level:
            return False
    return True


def _tidy(value: Any) -> Any:
    """Without what cannot be written out again: lone surrogates and integers past 64 bits."""
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {_tidy(key): _tidy(child) for key, child in value.items()}
    if isinstance(value, list):
        return [_tidy(child) for child in value]
    if isinstance(value, int) and not -(2**63) <= value < 2**64:
        return str(value)
    return value


def _parquet(path: Path) -> list[Record]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path, memory_map=False) as file:
            metadata = file.metadata
            if metadata.num_rows > MAX_RECORDS:
                raise UnreadableTrace(f"{path} holds more than {MAX_RECORDS} rows")
            size = sum(
                metadata.row_group(group).total_byte_size for group in range(file.num_row_groups)
            )
            if size > MAX_BYTES:  # compressed it may be small
                raise UnreadableTrace(f"{path} is larger than {MAX_BYTES} bytes when unpacked")
            rows = [row for batch in file.iter_batches(batch_size=256) for row in batch.to_pylist()]
    except (pa.ArrowException, OSError, ValueError, OverflowError) as error:
        line = " ".join(str(error).split())
        raise UnreadableTrace(f"{path}: not a readable parquet file: {line[:200]}") from error
    return [_tidy(row) for row in rows if not _too_deep(row)]
