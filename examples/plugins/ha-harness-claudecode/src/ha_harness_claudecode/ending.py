"""How a Claude Code run ended, read from its event stream (``--output-format stream-json``)."""

from __future__ import annotations

import asyncio
from typing import Any

from harness_adapters import Ended
from harness_adapters.harness.headless import Ran, how_it_died, one_line


class Progress:
    """What the event stream has said so far.

    :ivar over: set once Claude Code has said its result, which comes last.
    """

    def __init__(self) -> None:
        self.over = asyncio.Event()
        self.started = False
        self.success = False
        self.said = ""
        self.kind = ""

    def see(self, event: dict[str, Any]) -> None:
        match event.get("type"):
            case "system":
                self.started = True
            case "result":
                self.kind = str(event.get("subtype", ""))
                self.success = self.kind == "success" and event.get("is_error") is False
                self.said = str(event.get("result") or "")
                self.over.set()
            case _:
                pass


def how_it_ended(progress: Progress, ran: Ran) -> tuple[Ended, str]:
    if ran.timed_out:
        return Ended.TIMEOUT, "the session's time was over"
    if not progress.over.is_set():
        return Ended.DIED, how_it_died(ran, started=progress.started)
    if progress.success:
        return Ended.COMPLETED, ""
    return Ended.ERROR, one_line(progress.said or progress.kind or "an error without a message")
