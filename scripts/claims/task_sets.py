"""A set of 1,000 tasks is loaded, filtered and split in under two seconds.

The set is generated on the spot. The fastest of five rounds counts; on a machine that others use,
the time that the process itself needed stands beside it.

Usage: scripts/claims/task_sets.py OUT.json
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path

from evidence import write_evidence

from harness_adapters import load_tasks, mixture
from harness_adapters.tasks import questions

TASKS, ROUNDS, SECONDS = 1_000, 5, 2.0


def main() -> int:
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "tasks"
        questions.write_bundles(questions.generate(7, TASKS, tables=200), root)
        rounds = [measure(root) for _ in range(ROUNDS)]
    wall = min(one["load_s"] + one["split_s"] for one in rounds)
    cpu = min(one["cpu_s"] for one in rounds)
    told = {"wall_s": wall, "cpu_s": cpu, "load_before": round(load, 2)}
    write_evidence(
        Path(sys.argv[1]),
        __file__,
        __doc__,
        holds=wall < SECONDS,
        tell=told,
        holds_by_cpu=cpu < SECONDS,
        tasks=TASKS,
        goal_s=SECONDS,
        **told,
        rounds=rounds,
    )
    return int(cpu >= SECONDS)  # that others use the machine is no failure


def measure(root: Path) -> dict[str, float]:
    started, cpu = time.perf_counter(), time.process_time()
    tasks, broken = load_tasks(root)
    loaded = time.perf_counter()
    mixed = mixture(tasks, weights={"qa": 1.0}, caps={"qa": 400}, difficulty=(0.1, 0.9))
    order = mixed.order(0, 0)
    ended = time.perf_counter()
    assert len(tasks) == TASKS and not broken and len(order) == 400
    assert len(mixed.held_out) >= 150
    return {
        "load_s": round(loaded - started, 3),
        "split_s": round(ended - loaded, 3),
        "cpu_s": round(time.process_time() - cpu, 3),
    }


if __name__ == "__main__":
    sys.exit(main())
