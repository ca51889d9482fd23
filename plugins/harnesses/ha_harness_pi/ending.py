"""How a pi run ended, read from its event stream. Its exit code says nothing: it is 0 on errors."""

from __future__ import annotations

import asyncio
import re
from typing import Any

from harness_adapters import Ended

_DETAIL_CHARACTERS = 300


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


def how_it_ended(
    progress: Progress, *, returncode: int | None, stderr: str, timed_out: bool
) -> tuple[Ended, str]:
    """
    :param returncode: ``None`` when it was still running and had to be ended.
    :param stderr: its standard error, for the detail alone.
    """
    if timed_out:
        return Ended.TIMEOUT, "the session's time was over"
    if progress.over.is_set():
        match progress.stop_reason:
            case "error" | "aborted" as reason:
                return Ended.ERROR, one_line(progress.error or reason)
            case "":
                return Ended.ERROR, "it ended without an answer"
            case "length":
                return Ended.COMPLETED, "the last answer was cut at the token limit"
            case _:
                return Ended.COMPLETED, ""
    when = "in the middle of its work" if progress.started else "before it started to work"
    how = "it closed its output" if returncode is None else f"exit code {returncode}"
    # Node prints the place and the source line of an uncaught error before the error itself.
    error = re.search(r"^\w*Error\b.*", stderr, re.MULTILINE)
    said = one_line(error.group() if error else stderr)
    return Ended.DIED, f"{when}, {how}" + (f": {said}" if said else "")


def one_line(text: str) -> str:
    """The first line that holds something, cut for a person."""
    lines = (line.strip() for line in text.splitlines())
    return next((line for line in lines if line), "")[:_DETAIL_CHARACTERS]
