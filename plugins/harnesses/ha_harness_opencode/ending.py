"""How an opencode run ended, read from its event stream."""

from __future__ import annotations

import asyncio
from typing import Any

from harness_adapters import Ended
from harness_adapters.harness.headless import Ran, how_it_died, one_line

_CALLS = "tool-calls"


class Progress:
    """What the event stream has said so far.

    :ivar over: set while opencode has said that it is done.
    :ivar session: the id it gave to its session, once known.
    """

    def __init__(self) -> None:
        self.over = asyncio.Event()
        self.session = ""
        self.reason = ""
        self.error = ""

    def see(self, event: dict[str, Any]) -> None:
        part = event.get("part")
        match event.get("type"):
            case "step_start":
                self.session = self.session or str(event.get("sessionID", ""))
                self.reason = ""
                self.over.clear()
            case "step_finish" if isinstance(part, dict):
                self.reason = str(part.get("reason", ""))
                if self.reason != _CALLS:
                    self.over.set()
            case "error":
                self.session = self.session or str(event.get("sessionID", ""))
                self.error = self.error or _message(event.get("error"))
                self.over.set()


def how_it_ended(progress: Progress, ran: Ran) -> tuple[Ended, str]:
    if ran.timed_out:
        return Ended.TIMEOUT, "the session's time was over"
    if progress.error:
        return Ended.ERROR, progress.error
    match progress.reason:
        case "stop":
            return Ended.COMPLETED, ""
        case "length":
            return Ended.COMPLETED, "the last answer was cut at the token limit"
        case "" | "tool-calls":
            return Ended.DIED, how_it_died(ran, started=bool(progress.session))
        case reason:
            return Ended.ERROR, one_line(f"the last answer ended with {reason!r}")


def _message(error: object) -> str:
    if not isinstance(error, dict):
        return "an error without a message"
    data = error.get("data")
    message = data.get("message") if isinstance(data, dict) else None
    name = str(error.get("name") or "error")
    return one_line(f"{name}: {message}" if message else name)
