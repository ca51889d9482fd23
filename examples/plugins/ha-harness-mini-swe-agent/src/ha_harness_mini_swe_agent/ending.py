"""How a mini-swe-agent run ended, read from the trajectory that it saves after each step."""

from __future__ import annotations

import json
from typing import Any

from harness_adapters import Ended
from harness_adapters.harness.headless import Ran, how_it_died, one_line

_DONE = {
    "Submitted": "",
    # It has no other end for a model that stops calling its tool.
    "RepeatedFormatError": "the model stopped calling its tool",
}


def how_it_ended(trajectory: bytes, ran: Ran) -> tuple[Ended, str]:
    if ran.timed_out:
        return Ended.TIMEOUT, "the session's time was over"
    status, said = _last(trajectory)
    if not status:
        return Ended.DIED, how_it_died(ran, started=bool(trajectory))
    if status in _DONE:
        return Ended.COMPLETED, _DONE[status]
    return Ended.ERROR, one_line(f"{status}: {said}")


def _last(trajectory: bytes) -> tuple[str, str]:
    """The exit status, and what the last message says. An agent may have written the file."""
    try:
        content: Any = json.loads(trajectory)
        return str(content["info"]["exit_status"]), str(content["messages"][-1]["content"])
    except (ValueError, LookupError, TypeError, RecursionError):
        return "", ""
