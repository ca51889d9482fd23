"""What a check says."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import StrEnum

from harness_adapters.plugins import Plugins
from harness_adapters.serve.engine import EngineSpec


class Status(StrEnum):
    OK = "ok"
    WARN = "warn"  # something works less well, or was not seen to work
    FAIL = "fail"


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One finding.

    :param text: what was found.
    :param fix: what to do about it; empty when all is well.
    """

    status: Status
    text: str
    fix: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """What is checked.

    :param engine: the one to probe, or ``None`` to leave engines alone.
    """

    plugins: Plugins
    engine: EngineSpec | None = None


Check = Callable[[Subject], Awaitable[list[Line]]]
"""Returns its lines, none when it does not apply. One of this package's errors that it raises
becomes a line that says ``fail``."""


def ok(text: str) -> Line:
    return Line(status=Status.OK, text=text)


def warn(text: str, fix: str) -> Line:
    return Line(status=Status.WARN, text=text, fix=fix)


def fail(text: str, fix: str) -> Line:
    return Line(status=Status.FAIL, text=text, fix=fix)
