"""How much better a rollout did than the others of its group (GRPO), and what made it so.

The group's standard deviation is divided by, as in the published recipe, but by no less than a
floor. Without one, a group in which all rollouts solved the task and differ only by the bonus for
few calls (a spread of 0.03) gets advantages as large as a group of solved and failed ones.

Source of the scaling: Shao et al., "DeepSeekMath" (GRPO), arXiv 2402.03300, section 4.1.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from harness_adapters.errors import InfraError

Scale = Literal["group", "none"]
Vector = npt.NDArray[np.float64]

SAME = 1e-9
"""Rewards nearer to each other than this are equal: sums of the same terms in another order."""


LARGEST = 1e9
"""A reward beyond this is a fault: the arithmetic of a group would lose all others in it."""


class UnfitReward(InfraError):
    """A reward that is no finite number of sane size: it would spoil its whole group."""


class Share(NamedTuple):
    """A rate that can be summed over groups: sum the parts, sum the wholes, then divide."""

    part: float
    whole: float

    @property
    def value(self) -> float:
        """0 to 1; 0 where there is nothing to share."""
        return self.part / self.whole if self.whole else 0.0


def group_advantages(
    rewards: Sequence[float], *, std_floor: float = 0.05, scale: Scale = "group"
) -> list[float] | None:
    """Advantages of one group's scored rollouts, in order; they sum to 0.

    ``(r - mean) / max(std, std_floor)`` with the population's standard deviation, or ``r - mean``.

    :param rewards: finite; rollouts without a reward (``infra``) are left out by the caller.
    :param std_floor: 0 for the plain formula.
    :returns: ``None`` for a group without variance (or of fewer than two): nothing to learn.
    :raises UnfitReward: one is NaN, infinite, or larger than 1e9.
    """
    if std_floor < 0:
        raise ValueError(f"std_floor must not be negative: {std_floor}")
    values = _finite(rewards)
    if len(values) < 2 or float(np.ptp(values)) <= SAME:
        return None
    return [float(one) for one in _centred(values) / _divisor(values, std_floor, scale)]


def efficiency_share(
    rewards: Sequence[float],
    verifier: Sequence[float],
    *,
    std_floor: float = 0.05,
    scale: Scale = "group",
) -> Share:
    """How much of a group's advantages comes from other reward terms than the verifier's.

    An advantage is the sum of what each term gives it, with the same divisor; its magnitude is
    counted term by term, so terms that work against each other do not hide one another.

    :param verifier: the verifier's term of each reward; 0 where the rollout was blocked.
    :raises UnfitReward: as above.
    """
    values, graded = _finite(rewards), _finite(verifier)
    if len(values) != len(graded):
        raise ValueError(f"{len(values)} rewards but {len(graded)} verifier terms")
    if len(values) < 2 or float(np.ptp(values)) <= SAME:
        return Share(0.0, 0.0)
    divisor = _divisor(values, std_floor, scale)
    other = float(np.abs(_centred(values - graded)).sum()) / divisor
    return Share(other, other + float(np.abs(_centred(graded)).sum()) / divisor)


def _finite(numbers: Sequence[float]) -> Vector:
    values = np.asarray(numbers, dtype=np.float64)
    fit = np.abs(values) <= LARGEST  # false for NaN
    if not fit.all():
        where = int(np.flatnonzero(~fit)[0])
        raise UnfitReward(f"rollout {where} of a group has the reward {values[where]}")
    return values


def _centred(values: Vector) -> Vector:
    return values - float(values.mean())


def _divisor(values: Vector, std_floor: float, scale: Scale) -> float:
    return max(float(values.std()), std_floor) if scale == "group" else 1.0
