"""What is promised, and whether a measured value keeps it on this machine.

Goals were set on one kind of machine, where direct calls took what ``DIRECT_THEN`` says. On a
slower or busier one a goal grows by how much slower direct calls are than the slowest then; on a
faster one it shrinks by how much they are faster than the fastest.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

DIRECT_THEN = {
    "call_ms": (0.43, 0.79),
    "requests_per_second": (2420.0, 2895.0),
    "streams_p99_ms": (95.0, 302.0),
    "long_call_ms": (5.6, 9.0),
}
Values = Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One goal's measurement.

    :param value: measure -> measured value; the names say the unit.
    :param goal: measure -> goal, as it was set. Names that start with ``least_`` are lower bounds
        of the measure without that word, all others are upper bounds.
    :param direct: the same without a gateway, in the same run; where there can be none, what the
        machine was judged by.
    :param scale: what goals in time are multiplied by, on this machine now.
    :param detail: further figures.
    """

    title: str
    value: Values
    goal: Values
    direct: Values
    scale: float = 1.0
    detail: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @property
    def ok(self) -> bool:
        return not self.missed

    @property
    def missed(self) -> list[str]:
        """The goals that do not hold."""
        return [name for name in self.goal if not self._holds(name)]

    def _holds(self, name: str) -> bool:
        goal = self.goal[name]
        measure = name.removeprefix("least_")
        timed = measure.endswith(("_ms", "_s", "per_second"))
        factor = self.scale if timed else 1.0
        if measure != name:
            return self.value[measure] >= goal / factor
        return self.value[measure] <= goal * factor

    def as_json(self) -> dict[str, Any]:
        return {"ok": self.ok, "missed": self.missed, **asdict(self)}


def scale(name: str, direct_now: float) -> float:
    """How much slower than then direct calls are; above 1 is slower."""
    low, high = DIRECT_THEN[name]
    if name.endswith("per_second"):  # more is faster
        return high / direct_now if direct_now > high else max(1.0, low / direct_now)
    return direct_now / low if direct_now < low else max(1.0, direct_now / high)


def quantile(values: list[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]
