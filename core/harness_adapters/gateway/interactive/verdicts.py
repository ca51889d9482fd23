"""What the guard decided lately: in memory for the person, in a file only when asked."""

from __future__ import annotations

import json
import logging
import secrets
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from harness_adapters.errors import BadInput

log = logging.getLogger(__name__)

KEPT = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """One call that was not simply let through.

    :param id: short; what a person says to allow the call.
    :param outcome: ``blocked``, ``would_block`` (log-only), ``allowed`` (by the person),
        ``flagged``, ``cut`` or ``server_tool``.
    :param message: the findings in words; may name paths, so it is in no log file.
    :param call: the call's fingerprint.
    """

    id: str
    time: float
    session: str
    tool: str
    outcome: str
    rules: tuple[str, ...]
    spans: tuple[tuple[int, int] | None, ...] = ()
    message: str = ""
    faults: tuple[str, ...] = ()
    call: str = ""
    policy: str = ""


class Verdicts:
    """The last verdicts.

    :param file: append redacted ones here, one JSON object a line.
    :raises BadInput: the file cannot be opened.
    """

    def __init__(self, file: Path | None = None) -> None:
        self.allowed = 0  # calls let through without a finding
        self._recent: deque[Verdict] = deque(maxlen=KEPT)
        self._file = None
        if file is not None:
            try:
                self._file = file.open("a", buffering=1)
                file.chmod(0o600)
            except OSError as error:
                raise BadInput(f"cannot write {file}: {error.strerror}") from error

    def new_id(self) -> str:
        while True:
            id = secrets.token_hex(3)
            if self.find(id) is None:
                return id

    def add(self, verdict: Verdict) -> None:
        self._recent.append(verdict)
        if self._file is not None:
            try:
                self._file.write(json.dumps(_redacted(verdict)) + "\n")
            except OSError as error:  # a full disk must not end the person's session
                log.error("a verdict is not in the log file: %s", error)

    def find(self, id: str) -> Verdict | None:
        return next((one for one in reversed(self._recent) if one.id == id), None)

    def recent(self) -> Sequence[Verdict]:
        return tuple(self._recent)

    def close(self) -> None:
        if self._file is not None:
            self._file.close()


def now() -> float:
    return round(time.time(), 3)


def _redacted(verdict: Verdict) -> dict[str, Any]:
    row = asdict(verdict)
    for name in ("message", "faults", "call"):
        del row[name]
    return row
