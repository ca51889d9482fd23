"""Does a server apply an adapter that it says it has loaded, and leave the base alone?

Known faults that no server reports: an adapter whose modules it does not know is served as the
plain base model; requests for the base are changed by a loaded adapter. Both show in the logprobs
of a fixed probe, if one knows how much they should differ: the trainer computes that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from harness_adapters.errors import HarnessAdaptersError

SMALLEST_CHANGE = 1e-4
"""Logprobs nearer than this count as equal even where a server repeats itself exactly."""
NOISE_FACTOR = 4.0
"""A server that computes in batches does not repeat itself exactly; a change must exceed this many
times what two equal requests differ by."""
BASE_FACTOR = 8.0
"""The same for the base, which is measured again under another load."""
ANOTHER_MODEL = 2.0
"""A base that is further off than this is no matter of precision: it is another model."""


class AdapterNotServed(HarnessAdaptersError):
    """A server answers for an adapter with something else, or the adapter changes the base."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """What the trainer computes for the probe.

    :ivar adapter: logprobs of the probe's ids after the first, with the adapter.
    :ivar base: the same, without.
    """

    adapter: tuple[float, ...]
    base: tuple[float, ...]

    @property
    def change(self) -> float:
        """The largest difference that the adapter makes; 0 for one that is provably zero."""
        return distance(self.adapter, self.base)


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What a canary found on one server.

    :ivar change: largest difference between adapter and base, as served.
    :ivar expected: the same, as computed by the trainer.
    :ivar parity: largest difference between server and trainer, with the adapter.
    :ivar base_drift: largest difference of the base to what it said at the start of the run.
    :ivar told: the expected change is large enough to tell an adapter from none.
    """

    change: float
    expected: float
    parity: float
    base_drift: float
    told: bool


def judge(
    *,
    server: str,
    name: str,
    expected: Expectation,
    adapter: Sequence[float],
    base: Sequence[float],
    base_before: Sequence[float],
    noise: float,
) -> Report:
    """Compare what a server says with what it should say.

    :param noise: by how much two equal requests to this server differ.
    :raises AdapterNotServed: it serves something else, or its base has changed.
    """
    least = max(SMALLEST_CHANGE, NOISE_FACTOR * noise)
    report = Report(
        change=distance(adapter, base),
        expected=expected.change,
        parity=distance(adapter, expected.adapter),
        base_drift=distance(base, base_before),
        told=expected.change > 2 * least,
    )
    if not (far := distance(base, expected.base)) <= ANOTHER_MODEL:
        raise AdapterNotServed(
            f"{server}: the base model's logprobs are off by {far:.2g} from those of the model "
            "that is trained: the server serves another model"
        )
    if not report.base_drift <= max(SMALLEST_CHANGE, BASE_FACTOR * noise):
        raise AdapterNotServed(
            f"{server}: the base model's logprobs have moved by {report.base_drift:.2g} since the "
            f"start of the run (adapter {name} was just loaded): requests for the base are changed "
            "by loaded adapters"
        )
    if expected.change == 0 and not report.change <= least:
        raise AdapterNotServed(
            f"{server}: adapter {name} is all zero, yet its logprobs differ from the base's by "
            f"{report.change:.2g}: the server serves something else under its name"
        )
    if report.told and not report.change >= report.expected / 2:
        raise AdapterNotServed(
            f"{server}: adapter {name} should change the logprobs by {report.expected:.2g}, but "
            f"changes them by {report.change:.2g}: the server serves the base model in its place"
        )
    return report


def distance(one: Sequence[float], other: Sequence[float]) -> float:
    """The largest difference; not a number anywhere counts as infinitely far."""
    worst = 0.0
    for a, b in zip(one, other, strict=True):
        gap = abs(a - b)
        worst = max(worst, gap if gap == gap else float("inf"))
    return worst
