"""An evaluation that was killed half-way goes on: what was finished stays byte for byte, nothing
is done twice, and every planned attempt is there in the end.

``ha eval`` with nine model names on the scripted engine (``nop``: sessions are real, and short),
over the tasks of ``examples/tasks`` in pi, killed with SIGKILL once half of the rollouts are
recorded, then started again with ``--resume``.

Usage: scripts/claims/eval_resume.py OUT.json [--models N] [--tasks N]
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from evidence import write_evidence

from harness_adapters.evaluation.plan import read_plan
from harness_adapters.record import log

ROOT = Path(__file__).parents[2]
HA = [sys.executable, "-c", "from harness_adapters.cli import main; main()"]
START_SECONDS = 600


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--models", type=int, default=9)
    parser.add_argument("--tasks", type=int, default=24)
    options = parser.parse_args()
    started = time.time()
    with tempfile.TemporaryDirectory() as folder:
        figures = measure(Path(folder) / "eval", options.models, options.tasks)
    return write_evidence(
        options.out,
        __file__,
        __doc__,
        holds=holds(figures),
        versions=("aiohttp",),
        seconds=round(time.time() - started),
        **figures,
    )


def measure(out: Path, models: int, tasks: int) -> dict[str, Any]:
    command = [
        *(*HA, "eval", str(ROOT / "examples" / "tasks"), "--engine", "scripted:nop"),
        *("--model", ",".join(f"model-{number}" for number in range(models))),
        *("--limit", str(tasks), "--concurrency", "2", "--out", str(out), "--json"),
    ]
    planned = models * tasks
    killed_at = kill_half_way(command, out, planned)
    before = {path: whole(path) for path in logs(out)}
    done = subprocess.run(
        [*command, "--resume"], stdin=subprocess.DEVNULL, capture_output=True, text=True
    )
    if done.returncode not in (0, 1):
        sys.exit(done.stderr)
    result = json.loads(done.stdout.splitlines()[-1])
    scored = [
        (path, record["task_id"], record["attempt"])
        for path in logs(out)
        for record in log.read(path)
        if record["outcome"] != "infra"
    ]
    finished_before = sum(content.count(b"\n") for content in before.values())
    return {
        "models": models,
        "tasks": tasks,
        "planned": planned,
        "recorded_when_killed": killed_at,
        "recorded_before_resume": finished_before,
        "kept_byte_for_byte": all(
            path.read_bytes().startswith(content) for path, content in before.items()
        ),
        "finished": result["finished"],
        "infra": result["infra"],
        "planned_by_arm": sorted({arm["planned"] for arm in result["arms"]}),
        "finished_by_arm": sorted({arm["finished"] for arm in result["arms"]}),
        "scored_twice": sum(count > 1 for count in Counter(scored).values()),
        "run_again": len(scored) + result["infra"] - finished_before,
    }


def holds(figures: dict[str, Any]) -> bool:
    """Killed in the middle, whole in the end."""
    planned = figures["planned"]
    return bool(
        0 < figures["recorded_before_resume"] < planned
        and figures["kept_byte_for_byte"]
        and figures["finished"] == planned
        and figures["scored_twice"] == 0
        and figures["planned_by_arm"] == figures["finished_by_arm"] == [figures["tasks"]]
    )


def kill_half_way(command: list[str], out: Path, planned: int) -> int:
    """Records seen at the moment of the kill."""
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    last, since = 0, time.monotonic()
    while (count := recorded(out)) < planned // 2:
        if process.poll() is not None or time.monotonic() - since > START_SECONDS:
            process.kill()
            sys.exit(f"the evaluation did not come half-way ({count} of {planned})")
        if count > last:
            last, since = count, time.monotonic()
        time.sleep(0.05)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    return count


def recorded(out: Path) -> int:
    return sum(path.read_bytes().count(b"\n") for path in logs(out))


def logs(out: Path) -> list[Path]:
    if not (out / "eval.json").exists():
        return []
    paths = (out / arm.path / "rollouts.log" for arm in read_plan(out).arms)
    return [path for path in paths if path.exists()]


def whole(path: Path) -> bytes:
    """The log without a torn tail."""
    content = path.read_bytes()
    return content[: content.rfind(b"\n") + 1]


if __name__ == "__main__":
    sys.exit(main())
