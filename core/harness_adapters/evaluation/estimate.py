"""A number with its interval, or the reason why there is none."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

LEVEL = 0.95
ALPHA = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A point estimate and its 95% interval.

    :param est: ``None`` where there is nothing to estimate from.
    :param lo: ``None``, like ``hi``, where the data allow no interval.
    :param n_tasks: tasks that the estimate is made from.
    :param reason: one clause, whenever something is ``None`` or the interval is not the usual one.
    """

    est: float | None
    lo: float | None
    hi: float | None
    n_tasks: int
    reason: str = ""

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def nothing(reason: str, *, est: float | None = None, n_tasks: int = 0) -> Estimate:
    """No interval, and perhaps no estimate either."""
    return Estimate(est=est, lo=None, hi=None, n_tasks=n_tasks, reason=reason)
