"""An in-memory cache with a time to live and a capacity."""

from tiercache.cache import Cache
from tiercache.memoize import memoize
from tiercache.stats import Stats

__all__ = ["Cache", "Stats", "memoize"]
