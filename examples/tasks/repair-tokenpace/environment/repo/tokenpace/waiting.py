"""Jobs that wait for their turn."""

import heapq
from dataclasses import dataclass, field


@dataclass(order=True)
class Job:
    """Higher priority goes first; among equals, the one that came first."""

    rank: tuple = field(init=False)
    priority: int = field(compare=False)
    number: int = field(compare=False)
    name: str = field(compare=False)
    cost: int = field(compare=False, default=1)

    def __post_init__(self):
        self.rank = (-self.priority, self.number)


class Line:
    """Jobs in the order in which they go."""

    def __init__(self):
        self._heap = []

    def __len__(self):
        return len(self._heap)

    def add(self, job):
        heapq.heappush(self._heap, job)

    def first(self):
        return self._heap[0] if self._heap else None

    def pop(self):
        return heapq.heappop(self._heap)

    def remove(self, name):
        """Take out the jobs of that name; gives their number."""
        kept = [job for job in self._heap if job.name != name]
        removed = len(self._heap) - len(kept)
        heapq.heapify(kept)
        self._heap = kept
        return removed
