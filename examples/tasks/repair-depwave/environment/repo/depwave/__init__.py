"""Plans the order in which packages are built."""

from depwave.errors import CycleError, ManifestError, PlanError
from depwave.planner import explain, plan, rebuild

__all__ = ["CycleError", "ManifestError", "PlanError", "explain", "plan", "rebuild"]
