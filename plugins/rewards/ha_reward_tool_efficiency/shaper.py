"""``weight * (1 - calls / horizon)`` for solved rollouts, never below 0 (the published recipe)."""

from __future__ import annotations

from harness_adapters import Attempt, BadInput, Options, Outcome, RewardTerm
from harness_adapters.options import check_options


class ToolEfficiency:
    """Options: ``weight`` (default 0.1) and ``horizon`` (default 15 calls)."""

    def __init__(self, options: Options) -> None:
        check_options("reward tool_efficiency", options, ("weight", "horizon"))
        self.weight = float(options.get("weight", 0.1))
        self.horizon = float(options.get("horizon", 15))
        if self.horizon <= 0:
            raise BadInput("reward tool_efficiency: horizon must be above 0")

    def shape(self, attempt: Attempt) -> RewardTerm:
        value = 0.0
        if attempt.outcome is Outcome.SOLVED:
            value = max(0.0, self.weight * (1 - attempt.transcript.calls / self.horizon))
        return RewardTerm(name="tool_efficiency", value=value)
