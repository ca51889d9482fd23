"""What processes of our own do with memory that is free again."""

from __future__ import annotations

import ctypes
import gc

THRESHOLDS = 20_000, 20, 100
KEPT_BYTES = 128 * 1024  # glibc's own value at the start
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # of ``malloc.h``


def collect_rarely() -> None:
    """A gateway makes thousands of objects for each request, which die by themselves or live as
    long as their session. Looking through them after every 700 was a tenth of its time."""
    gc.set_threshold(*THRESHOLDS)


def give_memory_back() -> None:
    """Freed memory goes back to the system at once, where the C library is glibc.

    By itself it keeps ever more of it once large blocks were freed, up to 64 MB: after some
    sessions of 100k tokens a quarter of a gateway's memory held nothing.
    """
    tune = getattr(ctypes.CDLL(None), "mallopt", None)
    if tune is not None:
        tune(_M_TRIM_THRESHOLD, KEPT_BYTES)
        tune(_M_MMAP_THRESHOLD, KEPT_BYTES)
