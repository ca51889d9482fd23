"""Stops a rule that does not come to an end, wherever it runs.

A limit of time must not decide a verdict, so this is no verdict: what is stopped is a fault of the
rule, and the call is judged again elsewhere. What is measured is the thread's own processor time,
which other load does not change, and the growth of the process's memory. Python code is stopped; a
single call into C (a regular expression that backtracks) only when it returns.
"""

from __future__ import annotations

import ctypes
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

MAX_SECONDS = 1.0  # of processor time; rules that are fit for use take milliseconds
MAX_GROWTH = 1024**3  # bytes
_STATM = Path("/proc/self/statm")
_EVERY = 0.1  # seconds between looks


class Overrun(BaseException):
    """Raised inside a rule that takes too much time or memory, past its ``except Exception``."""


class _Running:
    """A rule that runs in a thread. Most are done before anybody looks.

    :ivar since: processor time of the thread at the first look, or when it was last told to stop.
    :ivar memory: of the process at the first look.
    """

    __slots__ = ("ident", "memory", "since", "stopped")

    def __init__(self) -> None:
        self.ident = threading.get_ident()
        self.since: float | None = None
        self.memory = 0
        self.stopped = ""


_lock = threading.Lock()
_running: dict[int, _Running] = {}
_watcher: threading.Thread | None = None


def watched(judge: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Call ``judge`` here and give what it gives.

    :raises Overrun: it took more than ``MAX_SECONDS`` or ``MAX_GROWTH``; says which.
    """
    global _watcher
    running = _Running()
    with _lock:
        _running[running.ident] = running
        if _watcher is None:
            _watcher = threading.Thread(target=_watch, name="guard-watch", daemon=True)
            _watcher.start()
    try:
        try:
            result = judge(*args, **kwargs)
        finally:
            _leave(running)
    except Overrun:
        _leave(running)  # it may have come in the midst of leaving
    if running.stopped:
        raise Overrun(running.stopped)
    return result


def _forget_watcher() -> None:
    """In a child of this process, which has this thread alone, and maybe a lock that is held."""
    global _lock, _watcher
    _lock, _watcher = threading.Lock(), None
    _running.clear()


os.register_at_fork(after_in_child=_forget_watcher)


def _leave(running: _Running) -> None:
    """From here on nothing is sent to this thread, and nothing is on its way."""
    while True:
        try:
            with _lock:
                _running.pop(running.ident, None)
                if running.stopped:
                    _let_arrive(running.ident)
            return
        except Overrun:
            continue


def _let_arrive(ident: int) -> None:
    """Let what may still be on its way to this thread arrive here: there is room for one.

    It could be taken back instead, but then CPython 3.11 takes it for pending for ever: all code
    of the process runs slower, and under a tracer it does not go on at all.
    """
    try:
        _send(ident, Overrun)
        while True:
            pass
    except Overrun:
        return


def _send(ident: int, error: type[BaseException]) -> None:
    """Raise ``error`` in a thread as soon as it runs Python."""
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(ident), ctypes.py_object(error))


def _watch() -> None:
    global _watcher
    try:
        while True:
            time.sleep(_EVERY)
            with _lock:
                for running in _running.values():
                    if reason := _too_much(running):
                        running.stopped = running.stopped or reason
                        _send(running.ident, Overrun)
    finally:
        _watcher = None  # the next rule starts another


def _too_much(running: _Running) -> str:
    """Why to stop it now. One that catches everything is told again, but only after it used as
    much time as before: whatever has arrived by then was no end of it."""
    used = _used(running.ident)
    if running.since is None:
        running.since, running.memory = used, _resident()
    elif used - running.since > MAX_SECONDS:
        running.since = used
        return f"no answer within {MAX_SECONDS:g} s of processor time"
    elif not running.stopped and _resident() - running.memory > MAX_GROWTH:
        running.since = used
        return f"more than {MAX_GROWTH // 1024**2} MiB of memory"
    return ""


def _used(ident: int) -> float:
    """Seconds of processor time of a thread; of the clock where the system does not tell."""
    if hasattr(time, "pthread_getcpuclockid"):
        return time.clock_gettime(time.pthread_getcpuclockid(ident))
    return time.monotonic()


def _resident() -> int:
    """Bytes of this process in memory; 0 where the system does not tell."""
    try:
        return int(_STATM.read_bytes().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0
