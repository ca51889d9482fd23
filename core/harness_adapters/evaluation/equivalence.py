"""Two one-sided tests (TOST): is the difference shown to lie within a stated margin?

Schuirmann (1987), J. Pharmacokinet. Biopharm. 15. "No detectable change" says only that nothing was
found; this says that nothing larger than the margin is there.
"""

from __future__ import annotations

from dataclasses import dataclass

from harness_adapters.errors import BadInput
from harness_adapters.evaluation.clustered import Clustered
from harness_adapters.evaluation.estimate import ALPHA
from harness_adapters.evaluation.quantiles import t_upper_tail


@dataclass(frozen=True, slots=True, kw_only=True)
class Equivalence:
    """:param p: the larger of both one-sided p-values; ``None`` where there is no spread to judge
    by and no bound either."""

    margin: float
    p: float | None

    @property
    def shown(self) -> bool:
        return self.p is not None and self.p < ALPHA


def tost(difference: Clustered, margin: float) -> Equivalence:
    """Test ``-margin < difference < margin`` for a mean of values in [-1, 1].

    Where no cluster deviates there is no standard error; then the exact bound of
    ``no_spread_interval`` is inverted: 0 of G clusters deviate with probability ``(1 - u)^G`` when
    a share ``u`` of all does.

    :raises BadInput: the margin is not between 0 and 1.
    """
    if not 0 < margin < 1:
        raise BadInput(f"an equivalence margin lies between 0 and 1, not {margin}")
    est, se, df = difference.est, difference.se, difference.df
    if est is None or se is None or df is None:
        return Equivalence(margin=margin, p=None)
    if se == 0:
        if abs(est) >= margin:
            return Equivalence(margin=margin, p=1.0)
        most = min((margin + est) / (1 + est), (margin - est) / (1 - est))
        return Equivalence(margin=margin, p=float((1 - most) ** difference.n_clusters))
    p = max(t_upper_tail((est + margin) / se, df), t_upper_tail((margin - est) / se, df))
    return Equivalence(margin=margin, p=p)
