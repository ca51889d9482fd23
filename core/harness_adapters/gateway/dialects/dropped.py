"""What a request says and the engine is not told, each with a reason in the debug log."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping
from typing import Any

log = logging.getLogger(__name__)

PINNED = "pinned by the session"
NO_MEANING = "of no meaning to the engine"
CACHE = "engines find shared prefixes by themselves"
UNKNOWN = "not known here"


def note_dropped(what: str, reason: str) -> None:
    log.debug("dropped %s: %s", what, reason)


def note_dropped_fields(
    wire: Mapping[str, Any], *, read: Collection[str], reasons: Mapping[str, str]
) -> None:
    """Log the fields of a request that were not ``read``. Free unless debug logging is on."""
    if not log.isEnabledFor(logging.DEBUG):
        return
    for name, value in wire.items():
        if name not in read and value is not None:
            note_dropped(repr(name), reasons.get(name, UNKNOWN))
