"""The shipped tasks in real pi: ``oracle`` solves all of them within 90 s at concurrency 4 and
``nop`` none; and ``ha eval`` of ``wasteful`` against ``oracle`` finds no difference in what is
solved, and fewer calls.

Usage: scripts/claims/shipped_tasks.py OUT.json [--harness NAME]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from evidence import write_evidence

ROOT = Path(__file__).parents[2]
HA = [sys.executable, "-c", "from harness_adapters.cli import main; main()"]
BUNDLES = ROOT / "examples" / "tasks"
TASKS = len(list(BUNDLES.rglob("task.toml")))
SECONDS = 90
CONCURRENCY = 4


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--harness", default="pi")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        runs = {play: run(Path(folder) / play, play, options.harness) for play in ("oracle", "nop")}
        compared = ha(
            *("eval", BUNDLES, "--harness", options.harness, "--model", "wasteful,oracle"),
            *("--concurrency", str(CONCURRENCY), "--out", Path(folder) / "eval"),
        )
    return write_evidence(
        options.out,
        __file__,
        __doc__,
        holds=holds(runs, compared),
        versions=("aiohttp",),
        harness=options.harness,
        concurrency=CONCURRENCY,
        runs=runs,
        oracle_against_wasteful=compared["comparisons"][0],
    )


def run(out: Path, play: str, harness: str) -> dict[str, Any]:
    """One run of all tasks; what ``ha run --json`` says, with its wall time in seconds and the
    load of the machine before it."""
    load, started = os.getloadavg()[0], time.monotonic()
    summary = ha(
        *("run", BUNDLES, "--harness", harness, "--engine", f"scripted:{play}"),
        *("--concurrency", str(CONCURRENCY), "--out", out),
    )
    return {"seconds": round(time.monotonic() - started, 1), "load_before": load, **summary}


def ha(*arguments: str | Path) -> dict[str, Any]:
    done = subprocess.run(
        [*HA, *map(str, arguments), "--json"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def holds(runs: dict[str, dict[str, Any]], evaluated: dict[str, Any]) -> bool:
    oracle, nop = runs["oracle"], runs["nop"]
    comparison = evaluated["comparisons"][0]
    return (
        (oracle["solved"], nop["solved"]) == (TASKS, 0)
        and oracle["seconds"] < SECONDS
        and evaluated["finished"] == evaluated["planned"]
        and comparison["diff_pass1"]["est"] == 0
        and comparison["calls_ratio"]["hi"] < 1
    )


if __name__ == "__main__":
    sys.exit(main())
