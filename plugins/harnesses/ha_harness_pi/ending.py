"""How a pi run ended, read from its event stream. Its exit code says nothing: it is 0 on errors."""

from __future__ import annotations

import asyncio
from typing import Any

from harness_adapters import Ended
from harness_adapters.harness.headless import Ran, how_it_died, one_line


class Progress:
    """What the event stream has said so far.

    pi ends each attempt with ``agent_end`` and may then start another one by itself (a retry
    after a server error), so the last word counts.

    :ivar over: set while pi has said that it is done.
    """

    def __init__(self) -> None:
        self.over = asyncio.Event()
        self.started = False
        self.stop_reason = ""
        self.error = ""

    def see(self, event: dict[str, Any]) -> None:
        match event.get("type"):
            case "agent_start" | "auto_retry_start":
                self.started = True
                self.over.clear()
            case "message_end":
                message = event.get("message")
                if isinstance(message, dict) and message.get("role") == "assistant":
                    self.stop_reason = str(message.get("stopReason", ""))
                    self.error = str(message.get("errorMessage") or "")
            case "agent_end":
                self.over.set()


def how_it_ended(progress: Progress, ran: Ran) -> tuple[Ended, str]:
    if ran.timed_out:
        return Ended.TIMEOUT, "the session's time was over"
    if not progress.over.is_set():
        return Ended.DIED, how_it_died(ran, started=progress.started)
    match progress.stop_reason:
        case "error" | "aborted" as reason:
            return Ended.ERROR, one_line(progress.error or reason)
        case "":
            return Ended.ERROR, "it ended without an answer"
        case "length":
            return Ended.COMPLETED, "the last answer was cut at the token limit"
        case _:
            return Ended.COMPLETED, ""
