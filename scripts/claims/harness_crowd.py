"""Eight sessions of each harness at once: each solves its own task, and none meets another.

Whole rollouts of eight shipped tasks with the oracle, side by side, in real sandboxes. Stated are
the memory of all eight together and the time they took. Claude Code, Codex and mini-swe-agent are
driven from their wheels.

Usage: scripts/claims/harness_crowd.py OUT.json [--harness NAME]... [--parts FOLDER]
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from harnesses.each import claim
from harnesses.environment import ROOT

AT_ONCE = 8


async def measure(harness: str) -> dict[str, Any]:
    from harnesses.rollouts import figures, in_turn, metered, prepared

    from harness_adapters import load_tasks
    from harness_adapters.serve.engine import open_engine, parse_engine

    tasks = load_tasks(ROOT / "examples" / "tasks")[0][:AT_ONCE]
    with tempfile.TemporaryDirectory(prefix="ha-claim-") as logs:
        async with (
            open_engine(parse_engine("scripted:oracle"), tasks=tasks) as engine,
            prepared(harness, tasks, engine.url, engine.model, guards=None) as setup,
        ):
            started = time.monotonic()
            jobs = [metered(task, setup, Path(logs) / task.id) for task in tasks]
            rows = [figures(*one) for one in await in_turn(jobs, AT_ONCE)]
            took = time.monotonic() - started
    return {
        "right": all(row["outcome"] == "solved" and not row["flags"] for row in rows),
        "outcomes": {row["task"]: row["outcome"] for row in rows},
        "mb_of_all_at_their_peaks": sum(row["peak_mb"] for row in rows),
        "cpu_seconds_of_all": round(sum(row["cpu_seconds"] for row in rows), 1),
        "wall_seconds": round(took, 1),
    }


if __name__ == "__main__":
    sys.exit(claim(__file__, __doc__, measure))
