"""Rows on their way from the sessions to the trainer: a bounded queue that drops what is too old.

Bounded by groups: one that waits here holds a place until its last row is taken or dropped, and no
new group is begun without a place. So neither a slow trainer nor a resumed run lets more in than
the limit, whatever the versions are.
"""

from __future__ import annotations

import queue
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any

from harness_adapters.train.groups import Scored, TrainRow


class RowQueue:
    """What TRL drains: ``get`` and ``qsize`` as of ``queue.Queue``. Thread-safe.

    :param convert: a row in TRL's own form.
    :param too_old: whether a row of a group that began at this step is too old by now.
    :param emptied: called with a group when its last row has left, with the number of its rows
        that were dropped as too old.
    """

    def __init__(
        self,
        *,
        convert: Callable[[TrainRow, float], Any],
        too_old: Callable[[int], bool],
        emptied: Callable[[Scored, int], None],
    ) -> None:
        self._convert = convert
        self._too_old = too_old
        self._emptied = emptied
        self._groups: deque[tuple[Scored, deque[TrainRow], float]] = deque()
        self._changed = threading.Condition()
        self._failure: BaseException | None = None

    def add(self, group: Scored) -> None:
        with self._changed:
            self._groups.append((group, deque(group.rows), time.time()))
            self._changed.notify()

    def fail(self, error: BaseException) -> None:
        """Whoever waits for a row gets this error instead, at once."""
        with self._changed:
            self._failure = error
            self._changed.notify_all()

    def get(self, timeout: float | None = None) -> Any:
        """The next row that is not too old.

        :raises queue.Empty: none came within ``timeout`` seconds.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        with self._changed:
            while True:
                if self._failure is not None:
                    raise self._failure
                self._drop_old()
                if self._groups:
                    break
                left = None if deadline is None else deadline - time.monotonic()
                if left is not None and left <= 0:
                    raise queue.Empty
                self._changed.wait(left)
            group, rows, since = self._groups[0]
            row = rows.popleft()
            if not rows:
                self._groups.popleft()
                self._emptied(group, 0)
        return self._convert(row, since)

    def qsize(self) -> int:
        with self._changed:
            return sum(len(rows) for _, rows, _ in self._groups)

    def drop_old(self) -> None:
        """Look at once for what has become too old, without waiting for the trainer to ask."""
        with self._changed:
            self._drop_old()

    def _drop_old(self) -> None:
        kept: deque[tuple[Scored, deque[TrainRow], float]] = deque()
        for group, rows, since in self._groups:
            if self._too_old(group.step):
                self._emptied(group, len(rows))
            else:
                kept.append((group, rows, since))
        self._groups = kept
