"""Server-sent events with a name, as Anthropic Messages and OpenAI Responses stream them."""

from __future__ import annotations

from typing import Any

import orjson


def event(kind: str, **fields: Any) -> bytes:
    """One event; its data repeats its kind as ``type``."""
    data = orjson.dumps({"type": kind, **fields})
    return b"event: " + kind.encode() + b"\ndata: " + data + b"\n\n"
