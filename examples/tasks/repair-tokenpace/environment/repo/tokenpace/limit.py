"""Limits as texts."""

import re
from dataclasses import dataclass
from fractions import Fraction

_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_LIMIT = re.compile(r"(\d+)\s*/\s*(\d*)\s*([smhd])(?:\s+burst\s+(\d+))?")


class LimitError(ValueError):
    """The text is no limit."""


@dataclass(frozen=True)
class Limit:
    """``tokens`` per ``seconds``; at most ``burst`` at once."""

    tokens: int
    seconds: int
    burst: int

    @classmethod
    def parse(cls, text):
        found = _LIMIT.fullmatch(text.strip())
        if found is None:
            raise LimitError(f"not a limit: {text!r}")
        tokens = int(found[1])
        seconds = int(found[2] or 1) * _SECONDS[found[3]]
        burst = int(found[4] or tokens)
        if 0 in (tokens, seconds, burst):
            raise LimitError(f"a limit of nothing: {text!r}")
        return cls(tokens, seconds, burst)

    @property
    def rate(self):
        """Tokens per second, exactly."""
        return Fraction(self.tokens, self.seconds)

    def __str__(self):
        text = f"{self.tokens}/{self.seconds}s"
        return text if self.burst == self.tokens else f"{text} burst {self.burst}"
