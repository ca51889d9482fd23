"""Who is who inside a sandbox, in numbers."""

from __future__ import annotations

import os
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Self

_USER_UID = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Identities:
    """Uids (and gids) inside. ``separate`` where each role has one of its own."""

    agent: int
    tests: int
    separate: bool

    @classmethod
    def fresh(cls) -> Self:
        """As root: uids that nobody else uses, so that limits per uid count one sandbox."""
        uids = spare_uids() if os.geteuid() == 0 else range(0)
        if len(uids) < 3:
            return cls(agent=_USER_UID, tests=_USER_UID, separate=False)
        return cls.among(uids)

    @classmethod
    def among(cls, uids: range) -> Self:
        """Two of these, at least three."""
        first = uids.start + secrets.randbelow(len(uids) // 2) * 2
        return cls(agent=first, tests=first + 1, separate=True)


def spare_uids() -> range:
    """The upper half of the uids that exist here, which in a container may be few."""
    ids = [line.split() for line in Path("/proc/self/uid_map").read_text().splitlines()]
    start, size = max((int(first), int(count)) for first, _, count in ids)
    if size > 1 << 31:
        return range(1 << 30, (1 << 31) - 2)
    return range(start + size // 2, start + size - 1) if size >= 1 << 16 else range(0)
