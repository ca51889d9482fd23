"""When the time of each key is over."""

import heapq
import itertools


class Deadlines:
    """A heap of deadlines. A deadline that was replaced stays in the heap until it comes up, and is
    passed over then: taking it out at once would mean searching for it."""

    def __init__(self):
        self._current = {}
        self._heap = []
        self._order = itertools.count()  # keys may have no order of their own

    def set(self, key, deadline):
        """Set or replace the deadline of a key; None: it has none."""
        self._current.pop(key, None)
        if deadline is not None:
            self._current[key] = deadline
            heapq.heappush(self._heap, (deadline, next(self._order), key))

    def forget(self, key):
        self._current.pop(key, None)

    def over(self, key, now):
        """Whether the time of this key is over."""
        deadline = self._current.get(key)
        return deadline is not None and deadline <= now

    def due(self, now):
        """Take out and give the keys whose time is over, by deadline."""
        keys = []
        while self._heap and self._heap[0][0] <= now:
            deadline, _, key = heapq.heappop(self._heap)
            if self._current.get(key) == deadline:
                del self._current[key]
                keys.append(key)
        return keys
