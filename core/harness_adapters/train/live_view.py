"""What the live view shows beside TRL's own metrics and those of the sessions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from harness_adapters.train.canary import Report
from harness_adapters.train.session_metrics import Metrics


def show_blocked(step: int, calls: Sequence[Mapping[str, Any]]) -> None:
    """List blocked calls in the live view, in the run that TRL has opened there."""
    import trackio

    columns = ["task", "attempt", "tool", "rules"]
    data = [
        [call["task_id"], call["attempt"], call["tool"], ", ".join(call["rules"])] for call in calls
    ]
    table = trackio.Table(columns=columns, data=data)
    trackio.log({"guard/blocked_calls": table}, step=step)


def evaluation_metrics(record: Mapping[str, Any]) -> Metrics:
    """Of one evaluation, for the log of the step that it ends in."""
    metrics: Metrics = {"evaluation/step": float(record["step"])}
    if record["finished"]:
        metrics |= {
            "evaluation/solved": (float(record["solved"]), float(record["finished"])),
            "evaluation/reward": record["mean_reward"],
            "evaluation/calls": record["mean_calls"],
        }
    return metrics


def canary_metrics(reports: Mapping[str, Report]) -> dict[str, float]:
    """The worst over the replicas."""
    return {
        "canary/change_min": min(one.change for one in reports.values()),
        "canary/parity_max": max(one.parity for one in reports.values()),
        "canary/base_drift_max": max(one.base_drift for one in reports.values()),
    }
