"""Names of adapters. A name is never used twice, by any run, on any server: servers key their
prefix cache by it, and another adapter under an old name would be served with its stale blocks."""

from __future__ import annotations

import re
import secrets
import time
from dataclasses import dataclass

_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"  # Crockford's base 32
_NAME = re.compile(r"([a-z0-9-]+)\.([a-z0-9-]+)\.([0-9A-HJKMNP-TV-Z]{26})\.v([1-9][0-9]*)")


def new_run_id() -> str:
    """A ULID: 48 bits of milliseconds and 80 random bits, 26 characters that sort by time."""
    number = (time.time_ns() // 1_000_000 << 80) | secrets.randbits(80)
    return "".join(_ALPHABET[number >> shift & 31] for shift in range(125, -1, -5))


@dataclass(frozen=True, slots=True, kw_only=True)
class AdapterName:
    """``<model-slug>.<harness>.<run-id>.v<N>``, one path-safe segment.

    :ivar model: slug of the model, ``[a-z0-9-]+``.
    :ivar run: the run's ULID.
    :ivar version: from 1, greater than any that this run has used.
    """

    model: str
    harness: str
    run: str
    version: int

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(str(self)):
            raise ValueError(f"no adapter name: {self}")

    def __str__(self) -> str:
        return f"{self.model}.{self.harness}.{self.run}.v{self.version}"

    @classmethod
    def parse(cls, text: str) -> AdapterName | None:
        """``None`` for a name that is not ours."""
        if not (match := _NAME.fullmatch(text)):
            return None
        model, harness, run, version = match.groups()
        return cls(model=model, harness=harness, run=run, version=int(version))
