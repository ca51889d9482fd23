"""Careful looks into objects that other programs wrote: a field of the wrong type is no field."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import orjson

Record = dict[str, Any]


def record(value: Any) -> Record:
    """The object, or an empty one."""
    return value if isinstance(value, dict) else {}


def records(value: Any) -> list[Record]:
    """The objects of a list."""
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def string(value: Any) -> str:
    return value if isinstance(value, str) else ""


def flag(value: Any) -> bool | None:
    """``None`` for anything but a truth value; SQLite's 0 and 1 are truth values."""
    return bool(value) if isinstance(value, bool) or value in (0, 1) else None


def text_of(content: Any) -> str:
    """The text of a content that is a string, a part, or a list of both."""
    if isinstance(content, str):
        return content
    if isinstance(content, Mapping):
        return string(content.get("text")) or string(content.get("content"))
    if isinstance(content, Sequence):
        return "\n".join(filter(None, map(text_of_part, content)))
    return ""


def text_of_part(part: Any) -> str:
    return part if isinstance(part, str) else text_of(part) if isinstance(part, Mapping) else ""


def as_text(value: Any) -> str:
    """Readable text of any result: its text parts, else its JSON."""
    if value is None or (text := text_of(value)):
        return text if value is not None else ""
    if isinstance(value, (str, list)) and not value:
        return ""
    return as_json(value)


def as_json(value: Any) -> str:
    return orjson.dumps(value, default=str, option=orjson.OPT_NON_STR_KEYS).decode()


def raw_arguments(value: Any) -> str:
    """The arguments' text: as it is, or an object as JSON."""
    if isinstance(value, str):
        return value
    return "{}" if value is None else as_json(value)


def seconds(value: Any) -> float | None:
    """Seconds since the epoch of an ISO time, or of a number in seconds or milliseconds."""
    if isinstance(value, bool):
        return None
    if isinstance(value, (int, float)):
        return value / 1000 if value > 1e11 else float(value)
    if not isinstance(value, str):
        return None
    try:
        return datetime.fromisoformat(value).timestamp()
    except (ValueError, OverflowError, OSError):
        return None
