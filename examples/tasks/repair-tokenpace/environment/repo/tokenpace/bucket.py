"""A bucket of tokens."""

from fractions import Fraction

from tokenpace.limit import Limit


class Bucket:
    """Starts full. Times are seconds of one clock and never go back; an earlier time than one seen
    before counts as that one."""

    def __init__(self, limit):
        self.limit = limit
        self._level = Fraction(limit.burst)
        self._filled_at = None

    @classmethod
    def from_text(cls, text):
        return cls(Limit.parse(text))

    def tokens(self, now):
        """Whole tokens in the bucket."""
        self._fill(now)
        return int(self._level)

    def take(self, tokens, now):
        """Take tokens, all or none; whether there were enough."""
        self._fill(now)
        if self._level < tokens:
            return False
        self._level -= tokens
        return True

    def wait(self, tokens, now):
        """Seconds until there are so many tokens, 0.0 when there are.

        :raises ValueError: the bucket is too small for them.
        """
        if tokens > self.limit.burst:
            raise ValueError(f"{tokens} tokens never fit into a bucket of {self.limit.burst}")
        self._fill(now)
        missing = tokens - self._level
        return float(missing / self.limit.rate) if missing > 0 else 0.0

    def _fill(self, now):
        now = Fraction(str(now))
        if self._filled_at is None:
            self._filled_at = now
        elapsed = now - self._filled_at
        if elapsed > 0:
            gained = int(elapsed * self.limit.rate)
            self._level = min(self._level + gained, Fraction(self.limit.burst))
            self._filled_at = now
