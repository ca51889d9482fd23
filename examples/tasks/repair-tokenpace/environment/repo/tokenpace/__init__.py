"""Rate limits with token buckets, and a scheduler for jobs under them."""

from tokenpace.bucket import Bucket
from tokenpace.limit import Limit, LimitError
from tokenpace.scheduler import Scheduler

__all__ = ["Bucket", "Limit", "LimitError", "Scheduler"]
