"""How often Python looks for garbage in processes of our own."""

from __future__ import annotations

import gc

THRESHOLDS = 20_000, 20, 100


def collect_rarely() -> None:
    """A gateway makes thousands of objects for each request, which die by themselves or live as
    long as their session. Looking through them after every 700 was a tenth of its time."""
    gc.set_threshold(*THRESHOLDS)
