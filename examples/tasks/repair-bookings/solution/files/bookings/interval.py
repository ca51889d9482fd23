"""Half-open stretches of time: the start belongs to them, the end does not."""

from dataclasses import dataclass


@dataclass(frozen=True, order=True)
class Interval:
    """From minute ``start`` up to, but not including, minute ``end``."""

    start: int
    end: int

    def __post_init__(self):
        if self.end <= self.start:
            raise ValueError(f"an interval must end after it starts: {self.start}-{self.end}")

    @property
    def length(self):
        return self.end - self.start

    def overlaps(self, other):
        """Whether they share time; intervals that only touch do not."""
        return self.start < other.end and other.start < self.end

    def clipped(self, bounds):
        """The part inside ``bounds``, or None."""
        start, end = max(self.start, bounds.start), min(self.end, bounds.end)
        return Interval(start, end) if start < end else None


def merged(intervals):
    """The same time as ``intervals``, as few intervals in order; those that touch become one."""
    result = []
    for current in sorted(intervals):
        if result and current.start <= result[-1].end:
            result[-1] = Interval(result[-1].start, max(result[-1].end, current.end))
        else:
            result.append(current)
    return result


def gaps(bounds, busy):
    """The time of ``bounds`` that no interval of ``busy`` takes, in order."""
    free = []
    start = bounds.start
    for taken in merged(filter(None, (interval.clipped(bounds) for interval in busy))):
        if taken.start > start:
            free.append(Interval(start, taken.start))
        start = taken.end
    if start < bounds.end:
        free.append(Interval(start, bounds.end))
    return free
