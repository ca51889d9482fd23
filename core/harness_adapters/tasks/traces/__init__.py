"""Readers of recorded sessions: many logs, one event model."""

from __future__ import annotations

from harness_adapters.tasks.traces.events import (
    Call,
    Compaction,
    Event,
    Message,
    Reasoning,
    Result,
    Trace,
)
from harness_adapters.tasks.traces.formats import FORMATS, read_traces

__all__ = [
    "FORMATS",
    "Call",
    "Compaction",
    "Event",
    "Message",
    "Reasoning",
    "Result",
    "Trace",
    "read_traces",
]
