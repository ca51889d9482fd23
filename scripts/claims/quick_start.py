#!/usr/bin/env python3
"""The quick start learns, on two cores in ten minutes: for each of three seeds the adapter needs
clearly fewer calls than its base and solves about as much; most of three control runs, their
rewards shuffled inside each group, do not.

    scripts/evidence quick_start

Runs `ha quickstart` six times, ten minutes each. A run that has finished below `--parts` is not
made again.
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

from evidence import write_evidence, write_json

HA = [sys.executable, "-c", "from harness_adapters.cli import main; main()"]
SEEDS = (0, 1, 2)
MOST_CALLS = 0.75
FEWEST_POINTS = -0.10
STEP_METRICS = {
    "reward": "sessions/reward",
    "solved": "sessions/solved",
    "calls": "sessions/calls",
    "blocked": "sessions/blocked",
    "staleness": "staleness/trained",
    "efficiency": "advantage/efficiency_share",
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--parts", type=Path, help="Keep the runs here.")
    parser.add_argument("--minutes", type=float, default=10)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        parts = options.parts or Path(folder)
        parts.mkdir(parents=True, exist_ok=True)
        recipe = parts / "control.toml"
        recipe.write_text(shuffled())
        learned = {f"seed {one}": part(parts / f"seed{one}", one, options.minutes) for one in SEEDS}
        given = ("--recipe", str(recipe.absolute()))
        controls = {
            f"seed {one}": part(parts / f"control{one}", one, options.minutes, *given)
            for one in SEEDS
        }
    return write_evidence(
        options.out,
        __file__,
        __doc__,
        holds=all(map(learns, learned.values()))
        and 2 * sum(one["calls_ratio"]["hi"] >= 1 for one in controls.values()) > len(controls),
        versions=("torch", "trl", "peft"),
        minutes=options.minutes,
        goals={"calls_ratio est": MOST_CALLS, "hi": 1, "diff_pass1 lo": FEWEST_POINTS},
        learned=learned,
        controls=controls,
    )


def learns(found: dict[str, Any]) -> bool:
    ratio, diff = found["calls_ratio"], found["diff_pass1"]
    return bool(ratio["est"] <= MOST_CALLS and ratio["hi"] < 1 and diff["lo"] > FEWEST_POINTS)


def shuffled() -> str:
    shown = subprocess.run([*HA, "recipe", "show", "cpu"], capture_output=True, text=True)
    before, table, after = shown.stdout.partition("shuffled = false")
    assert table, shown.stderr
    return f"{before}shuffled = true{after}"


def part(folder: Path, seed: int, minutes: float, *more: str) -> dict[str, Any]:
    """What one quick start says, and the comparison made anew from its folder."""
    kept = folder.with_suffix(".json")
    if not kept.exists():
        command = [*HA, "quickstart", "--seed", str(seed), "--minutes", str(minutes)]
        started, load = time.monotonic(), os.getloadavg()[0]
        ran = subprocess.run(
            [*command, "--out", str(folder), "--json", *more], stdout=subprocess.PIPE, text=True
        )
        if ran.returncode:
            sys.exit(f"{folder.name}: exit code {ran.returncode}")
        said = json.loads(ran.stdout.splitlines()[-1])
        said |= {"seconds": round(time.monotonic() - started), "load_before": load}
        write_json(kept, said)
    said = json.loads(kept.read_text())
    for place in ("report", "adapter_dir"):
        said.pop(place, None)
    again = compared_again(folder)
    for number in ("diff_pass1", "calls_ratio"):
        assert again[number] == said[number], f"{folder}: {number} differs when it is made again"
    return {**said, "steps_taken": steps(folder / "train")}


def compared_again(folder: Path) -> dict[str, Any]:
    arms = folder / "eval" / "pi" / "pi"
    (adapter,) = arms.glob("*.v*/")
    base = arms / adapter.name.partition(".")[0]
    ran = subprocess.run(
        [*HA, "compare", str(base), str(adapter), "--json"], capture_output=True, text=True
    )
    found: dict[str, Any] = json.loads(ran.stdout.splitlines()[-1])
    return found


def steps(training: Path) -> list[dict[str, Any]]:
    """What the training saw, step by step."""
    lines = (training / "steps.log").read_text().splitlines()
    records = (json.loads(line.split(" ", 1)[1]) for line in lines)
    return [
        {"step": one["step"]}
        | {
            name: round(one["metrics"][key], 4)
            for name, key in STEP_METRICS.items()
            if key in one["metrics"]
        }
        for one in records
    ]


if __name__ == "__main__":
    sys.exit(main())
