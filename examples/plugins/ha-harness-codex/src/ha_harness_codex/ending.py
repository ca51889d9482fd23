"""How a Codex run ended, read from its event stream (``codex exec --json``)."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

from harness_adapters import Ended
from harness_adapters.harness.headless import Ran, how_it_died, one_line


class Progress:
    """What the event stream has said so far.

    :ivar over: set once Codex has said how its turn ended.
    """

    def __init__(self) -> None:
        self.over = asyncio.Event()
        self.started = False
        self.completed = False
        self.error = ""

    def see(self, event: dict[str, Any]) -> None:
        match event.get("type"):
            case "turn.started":
                self.started = True
            case "turn.completed":
                self.completed = True
                self.over.set()
            case "turn.failed":
                error: Any = event.get("error")
                with suppress(TypeError, LookupError):
                    self.error = str(error["message"])
                self.over.set()
            case "error":  # it may go on: it reports each retry like this
                self.error = str(event.get("message", ""))
            case _:
                pass


def how_it_ended(progress: Progress, ran: Ran) -> tuple[Ended, str]:
    if ran.timed_out:
        return Ended.TIMEOUT, "the session's time was over"
    if progress.completed:
        return Ended.COMPLETED, ""
    if progress.over.is_set():
        return Ended.ERROR, one_line(progress.error or "an error without a message")
    return Ended.DIED, how_it_died(ran, started=progress.started)
