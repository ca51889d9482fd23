"""Another date for one Python process. Its text is run first in a process whose clock is shifted.

What Python code asks for moves: ``time.time``, ``time.time_ns``, ``localtime`` and its like without
an argument, ``datetime.now`` and ``today``. What a C library asks the kernel itself does not.
Needs nothing but the standard library.
"""

from __future__ import annotations

import datetime
import time
from collections.abc import Callable
from typing import Any


def shift(seconds: float) -> None:
    """Move every later question for the time of day."""
    now, now_ns = time.time, time.time_ns
    # ``Any``: what follows replaces parts of the standard library, which no type knows about.
    clock: Any = time
    dates: Any = datetime
    clock.time = lambda: now() + seconds
    clock.time_ns = lambda: now_ns() + int(seconds * 1e9)
    for name in ("localtime", "gmtime", "ctime"):
        setattr(time, name, _with_default(getattr(time, name)))
    strftime = time.strftime
    clock.strftime = lambda form, *when: strftime(form, *(when or (time.localtime(),)))
    asctime = time.asctime
    clock.asctime = lambda *when: asctime(*(when or (time.localtime(),)))

    class Date(datetime.date, metaclass=_Like):
        real = datetime.date

        @classmethod
        def today(cls) -> Any:
            return cls.fromtimestamp(time.time())

    class Datetime(datetime.datetime, metaclass=_Like):
        real = datetime.datetime

        @classmethod
        def now(cls, tz: datetime.tzinfo | None = None) -> Any:
            return cls.fromtimestamp(time.time(), tz)

        @classmethod
        def today(cls) -> Any:
            return cls.fromtimestamp(time.time())

        @classmethod
        def utcnow(cls) -> Any:
            return cls.fromtimestamp(time.time(), datetime.UTC).replace(tzinfo=None)

    Date.__name__ = Date.__qualname__ = "date"
    Datetime.__name__ = Datetime.__qualname__ = "datetime"
    dates.date, dates.datetime = Date, Datetime


class _Like(type):
    """A class whose instances are also those of the class that it stands for."""

    real: type

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, cls.real)


def _with_default(function: Callable[..., Any]) -> Callable[..., Any]:
    def shifted(seconds: float | None = None) -> Any:
        return function(time.time() if seconds is None else seconds)

    return shifted
