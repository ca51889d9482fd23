"""Which names mean this machine."""

from __future__ import annotations

from functools import lru_cache
from urllib.parse import urlsplit

LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})


@lru_cache(maxsize=64)
def is_loopback(url: str) -> bool:
    """Whether the host of a URL, or of ``//host``, is this machine by a name that cannot be
    made to mean another one."""
    try:
        return urlsplit(url).hostname in LOOPBACK
    except ValueError:
        return False
