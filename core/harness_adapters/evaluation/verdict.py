"""What the numbers allow one to say, in words that claim no more than that.

A change is claimed only where the interval excludes "no change" and the permutation test, adjusted
for the number of runs compared, agrees. Otherwise the sentence says what size of change would have
been found. "Equivalent" needs its own test with a stated margin; not finding a change does not show
it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from harness_adapters.evaluation.arms import Arm
from harness_adapters.evaluation.clustered import Clustered
from harness_adapters.evaluation.difference import Difference
from harness_adapters.evaluation.equivalence import Equivalence
from harness_adapters.evaluation.estimate import ALPHA, Estimate
from harness_adapters.evaluation.missing import HEAVY
from harness_adapters.evaluation.power import LEAST_CLUSTERS, minimum_detectable_effect


class Change(StrEnum):
    """Of pass@1 or of the number of tool calls."""

    HIGHER = "higher"
    LOWER = "lower"
    NONE_DETECTED = "none_detected"
    UNCLEAR = "unclear"  # the interval and the permutation test disagree
    UNKNOWN = "unknown"  # the data allow no interval


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """:param equivalent: pass@1 is shown to lie within the margin of the base's.
    :param sentences: pass@1 first, then calls, then what weakens either."""

    pass1: Change
    calls: Change
    equivalent: bool
    sentences: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        return {
            "pass1": self.pass1.value,
            "calls": self.calls.value,
            "equivalent": self.equivalent,
            "sentences": list(self.sentences),
        }


def decide(
    difference: Difference,
    calls_ratio: Estimate,
    calls: Clustered,
    *,
    p: float | None,
    calls_p: float | None,
    n_runs: int,
    equivalence: Equivalence,
    arms: tuple[Arm, Arm],
    bounds: tuple[float, float] | None,
) -> Verdict:
    """:param p: of the difference, ``calls_p``: of the calls, both adjusted for ``n_runs`` runs.
    :param bounds: of the difference over all that the missing attempts could have been."""
    pass1 = _change(difference.est, difference.lo, difference.hi, p, null=0.0)
    fewer = _change(calls_ratio.est, calls_ratio.lo, calls_ratio.hi, calls_p, null=1.0)
    sentences = [
        _say_pass1(pass1, difference, _p(p, n_runs), equivalence),
        _say_calls(fewer, calls_ratio, calls, _p(calls_p, n_runs)),
        *_caveats(pass1, fewer, difference, arms, bounds),
    ]
    return Verdict(
        pass1=pass1, calls=fewer, equivalent=equivalence.shown, sentences=tuple(sentences)
    )


def _change(
    est: float | None, lo: float | None, hi: float | None, p: float | None, *, null: float
) -> Change:
    if est is None or lo is None or hi is None or p is None:
        return Change.UNKNOWN
    outside, significant = not lo <= null <= hi, p < ALPHA
    if outside and significant:
        return Change.HIGHER if est > null else Change.LOWER
    return Change.UNCLEAR if outside or significant else Change.NONE_DETECTED


def _say_pass1(change: Change, difference: Difference, p: str, equivalence: Equivalence) -> str:
    est, lo, hi = difference.est, difference.lo, difference.hi
    if change is Change.UNKNOWN or est is None or lo is None or hi is None:
        seen = "" if est is None else f"; {_points(est)} points were seen"
        return f"Nothing can be said about pass@1: {difference.reason}{seen}."
    numbers = (
        f"{_points(est)} points (95% interval {_points(lo)} to {_points(hi)}, {p}; "
        f"{difference.n_tasks} tasks in {difference.n_clusters} clusters)"
    )
    within = _say_equivalence(equivalence)
    if change is Change.HIGHER:
        return f"Solves more than the base: pass@1 {numbers}.{within if equivalence.shown else ''}"
    if change is Change.LOWER:
        return f"Solves less than the base: pass@1 {numbers}.{within if equivalence.shown else ''}"
    if change is Change.UNCLEAR:
        return f"Unclear for pass@1, interval and permutation test disagree: {numbers}.{within}"
    return f"No detectable change of pass@1: {numbers}. {_say_power(difference)}{within}"


def _say_power(difference: Difference) -> str:
    if difference.mde is None:
        return f"Fewer than {LEAST_CLUSTERS} clusters cannot show a change of any size."
    if difference.mde > 1:
        return "This comparison is too small to detect a change of any size."
    return (
        f"A change of {100 * difference.mde:.1f} points or more would be found 4 times in 5; "
        "a smaller one may well be there."
    )


def _say_equivalence(equivalence: Equivalence) -> str:
    points = 100 * equivalence.margin
    margin = f"{points:g} point{'' if points == 1 else 's'}"
    shown = "Equivalent to the base" if equivalence.shown else "Not shown to be equivalent"
    return f" {shown} within {margin} (TOST, {_p(equivalence.p)})."


def _say_calls(change: Change, ratio: Estimate, spread: Clustered, p: str) -> str:
    est, lo, hi = ratio.est, ratio.lo, ratio.hi
    if est is None and not ratio.n_tasks:
        return "Nothing can be said about tool calls: no task was solved by both arms."
    if change is Change.UNKNOWN or est is None or lo is None or hi is None:
        seen = "" if est is None else f"; a ratio of {est:.2f} was seen"
        return f"Nothing can be said about tool calls: {ratio.reason}{seen}."
    numbers = (
        f"ratio {est:.2f} (95% interval {lo:.2f} to {hi:.2f}, {p}) "
        f"on the {ratio.n_tasks} tasks that both solved"
    )
    if change is Change.LOWER:
        return f"Needs {100 * (1 - est):.0f}% fewer tool calls: {numbers}."
    if change is Change.HIGHER:
        return f"Needs {100 * (est - 1):.0f}% more tool calls: {numbers}."
    if change is Change.UNCLEAR:
        return f"Unclear for tool calls, interval and permutation test disagree: {numbers}."
    mde = minimum_detectable_effect(spread)
    power = ""
    if mde is not None:
        saved = 100 * (1 - math.exp(-mde / est))
        power = f" A saving of {saved:.0f}% or more would be found 4 times in 5."
    return f"No detectable change of tool calls: {numbers}.{power}"


def _caveats(
    pass1: Change,
    calls: Change,
    difference: Difference,
    arms: tuple[Arm, Arm],
    bounds: tuple[float, float] | None,
) -> list[str]:
    said = []
    if calls is Change.LOWER and (difference.est or 0) < 0 and pass1 is not Change.LOWER:
        said.append(
            "It saves calls while its pass@1 was seen to be lower, if not detectably: "
            "compare calls per solve."
        )
    missing = [arm.missing_share for arm in arms]
    if max(missing) > HEAVY and bounds:
        shares = " and ".join(f"{100 * share:.1f}%" for share in missing)
        said.append(
            f"Of the planned attempts of base and run {shares} are missing (not run, or ended by a "
            "fault outside the sandbox); they are left out, which is fair only if they are missing "
            "by chance. Had they all gone one way or the other, the difference of pass@1 would lie "
            f"between {_points(bounds[0])} and {_points(bounds[1])} points."
        )
    if 2 <= difference.n_clusters < LEAST_CLUSTERS:
        said.append(
            f"{difference.n_clusters} clusters are too few: the permutation test cannot reach "
            f"p < {ALPHA} with fewer than {LEAST_CLUSTERS}."
        )
    return said


def _points(share: float) -> str:
    return f"{100 * share:+.1f}"


def _p(p: float | None, n_runs: int = 1) -> str:
    if p is None:
        return ""
    adjusted = f" after Holm's adjustment for {n_runs} runs" if n_runs > 1 else ""
    return ("p < 0.001" if p < 0.001 else f"p = {p:.3f}") + adjusted
