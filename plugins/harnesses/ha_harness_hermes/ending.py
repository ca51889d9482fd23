"""How a hermes run ended, read from its usage report. Its exit code says nothing: it is 0 on
errors."""

from __future__ import annotations

from typing import Any

import orjson

from harness_adapters import Ended
from harness_adapters.harness.headless import Ran, how_it_died, one_line


def how_it_ended(usage: bytes, ran: Ran, *, answer: bytes, started: bool) -> tuple[Ended, str]:
    """
    :param usage: the usage report, empty if there is none.
    :param answer: what it printed at the end: the final answer, or what went wrong.
    :param started: whether its own log has a session.
    """
    if ran.timed_out:
        return Ended.TIMEOUT, "the session's time was over"
    report = _parse(usage)
    if report is None:
        return Ended.DIED, how_it_died(ran, started=started)
    if report.get("failed"):
        told = (str(report.get("failure") or ""), answer.decode(errors="replace"), ran.stderr)
        return Ended.ERROR, next(filter(None, map(one_line, told)), "it failed")
    if not report.get("completed"):
        return Ended.COMPLETED, "it stopped without a whole answer"
    return Ended.COMPLETED, ""


def _parse(usage: bytes) -> dict[str, Any] | None:
    try:
        report = orjson.loads(usage)
    except orjson.JSONDecodeError:
        return None
    return report if isinstance(report, dict) else None
