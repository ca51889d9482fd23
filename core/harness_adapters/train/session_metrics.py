"""What the sessions of a step were like, in the form TRL's log takes: ``{key: number}`` or
``{key: (part, whole)}`` for a rate; keys with ``total`` in them are summed, others averaged."""

from __future__ import annotations

from collections.abc import Sequence

from harness_adapters.outcomes import BLOCKED
from harness_adapters.summary import solved
from harness_adapters.train.dispatch import Decided
from harness_adapters.train.groups import Fate, is_infra
from harness_adapters.types import Rollout

Metrics = dict[str, float | tuple[float, float]]

LENGTHS = (10, 30, 100, 300, 1000)
"""Seconds. Staleness drops long sessions more often than short ones, which is a hidden bonus for
short ones; the rate by length shows it."""


def of_group(decided: Decided) -> list[Metrics]:
    """Of a group, when it is decided."""
    group, rollouts = decided.group, decided.rollouts
    fit = [one for one in rollouts if not is_infra(one)]
    whole = len(fit)
    metrics: Metrics = {
        f"groups/{group.fate.value}_total": 1.0,
        "groups/decided_total": 1.0,
        "sessions/infra_total": float(len(rollouts) - whole),
        "sessions/cancelled_total": float(len(decided.cancelled)),
        **{f"rows/{reason}_total": float(number) for reason, number in group.rejected.items()},
    }
    if whole:
        rewards = [one.reward or 0.0 for one in fit]
        metrics |= {
            "sessions/solved": (float(sum(map(solved, fit))), whole),
            "sessions/blocked": (float(sum(one.outcome in BLOCKED for one in fit)), whole),
            "sessions/reward": (sum(rewards), whole),
            "sessions/calls": (float(sum(one.calls for one in fit)), whole),
            "sessions/turns": (float(sum(len(one.transcript.turns) for one in fit)), whole),
            "sessions/seconds": (sum(one.seconds for one in fit), whole),
            "sessions/seconds_max": max(one.seconds for one in fit),
            "sessions/roots": (float(sum(map(roots, fit))), whole),
        }
    if group.fate is Fate.READY:
        metrics["advantage/efficiency_share"] = (group.efficiency.part, group.efficiency.whole)
    dropped = group.fate is Fate.STALE
    lengths = [one.seconds for one in rollouts] + list(decided.cancelled)
    return [metrics, *drops(lengths, dropped=dropped)]


def drops(lengths: Sequence[float], *, dropped: bool) -> list[Metrics]:
    """The drop rate by session length; a cancelled session counts with the time it had."""
    return [{f"dropped/{bucket(seconds)}": (float(dropped), 1.0)} for seconds in lengths]


def bucket(seconds: float) -> str:
    for limit in LENGTHS:
        if seconds < limit:
            return f"under_{limit}s"
    return f"over_{LENGTHS[-1]}s"


def roots(rollout: Rollout) -> int:
    """Roots of the forest of a session's turns: 1 for one that only ever appends."""
    return sum(
        turn.parent is None and not turn.auxiliary and bool(turn.sampled_ids)
        for turn in rollout.transcript.turns
    )
