"""The cache."""

import time

from tiercache.deadlines import Deadlines
from tiercache.recency import Recency
from tiercache.stats import Stats

_DEFAULT = object()


class Cache:
    """At most ``capacity`` entries, each for ``ttl`` seconds from when it was written.

    :param ttl: None: entries do not grow too old.
    :param clock: gives seconds.
    """

    def __init__(self, capacity, ttl=None, clock=time.monotonic):
        if capacity < 1:
            raise ValueError("a cache needs room for one entry at least")
        self.capacity = capacity
        self.ttl = ttl
        self.stats = Stats()
        self._clock = clock
        self._values = {}
        self._recency = Recency()
        self._deadlines = Deadlines()

    def __len__(self):
        self.sweep()
        return len(self._values)

    def __contains__(self, key):
        """Whether there is such an entry; this is no use of it."""
        return key in self._values and not self._deadlines.over(key, self._clock())

    def get(self, key, default=None):
        if key in self._values and self._deadlines.over(key, self._clock()):
            self._remove(key)
            self.stats.expired += 1
        if key not in self._values:
            self.stats.misses += 1
            return default
        self.stats.hits += 1
        self._recency.touch(key)
        return self._values[key]

    def put(self, key, value, ttl=_DEFAULT):
        """Write an entry, new or not.

        :param ttl: seconds for this entry, in place of those of the cache.
        """
        self.sweep()
        if key not in self._values and len(self._values) >= self.capacity:
            self._remove(self._recency.oldest())
            self.stats.evicted += 1
        seconds = self.ttl if ttl is _DEFAULT else ttl
        self._values[key] = value
        self._recency.touch(key)
        self._deadlines.set(key, None if seconds is None else self._clock() + seconds)

    def delete(self, key):
        """Whether there was such an entry; now there is none."""
        known = key in self
        self._remove(key)
        return known

    def sweep(self):
        """Remove all entries whose time is over; gives their number."""
        due = self._deadlines.due(self._clock())
        for key in due:
            self._remove(key)
        self.stats.expired += len(due)
        return len(due)

    def keys(self):
        """From the least to the most recently used."""
        self.sweep()
        return list(self._recency)

    def _remove(self, key):
        self._values.pop(key, None)
        self._recency.forget(key)
        self._deadlines.forget(key)
