"""Two GRPO steps in real Claude Code and real Codex, through harnesses that core does not know.

Usage: scripts/claims/train_wheels.py OUT.json [--harnesses claudecode,codex]

The wheel of harness-adapters and those of the example plugins stand in an environment of their own,
and ``ha train`` is run there, with the embedded engine and a model of random weights.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from evidence import first_paragraph, write_evidence
from harnesses.environment import Environment, make_environment
from random_policy import install_reward, random_policy
from training_runs import check_run

from harness_adapters.record.folder import read_rollouts
from harness_adapters.train.folder import read_steps

STEPS = 2
CONTEXT = 65_536  # what these harnesses say first is long
BUDGET = 8_600  # a little more than a row, for steps of few sessions


def main() -> int:
    parser = argparse.ArgumentParser(description=first_paragraph(__doc__))
    parser.add_argument("out", type=Path)
    parser.add_argument("--harnesses", default="claudecode,codex")
    given = parser.parse_args()
    found = {}
    with tempfile.TemporaryDirectory(prefix="ha-claim-") as temporary:
        environment = make_environment(Path(temporary))
        install_reward(site_of(environment))
        for harness in given.harnesses.split(","):
            folder = Path(temporary) / harness
            folder.mkdir()
            found[harness] = trained(harness, environment, folder)
            print(f"{harness}: {json.dumps(found[harness])}", file=sys.stderr, flush=True)
    return write_evidence(
        given.out,
        __file__,
        __doc__,
        holds=all(one["holds"] for one in found.values()),
        versions=("trl", "peft", "torch"),
        harnesses=found,
    )


def trained(harness: str, environment: Environment, folder: Path) -> dict[str, Any]:
    recipe, _ = random_policy(folder, steps=STEPS, harness=harness, context=CONTEXT, budget=BUDGET)
    run = folder / "run"
    started = time.monotonic()
    words = ("train", recipe, "--engine", "embedded", "--out", run, "--json")
    done = environment.ha(*words, cwd=folder)
    if done.returncode:
        return {"holds": False, "exit": done.returncode, "says": done.stderr[-2000:]}
    check_run(run, steps=STEPS)
    last = read_steps(run)[STEPS]["metrics"]
    rollouts = list(read_rollouts(run))
    canary = {name: last[f"canary/{name}"] for name in ("parity_max", "change_min")}
    figures = {
        "seconds": round(time.monotonic() - started),
        "harness_version": rollouts[0].harness_version,
        "rollouts": len(rollouts),
        "rows_each": sorted({len(one.transcript.rows()) for one in rollouts}),
        "longest_row": max(len(row.ids) for one in rollouts for row in one.transcript.rows()),
        "outcomes": sorted({one.outcome.value for one in rollouts}),
        "canary": canary,
    }
    holds = canary["parity_max"] < 1e-3 < canary["change_min"]
    return {"holds": holds, **figures}


def site_of(environment: Environment) -> Path:
    (site,) = environment.python.parents[1].glob("lib/python*/site-packages")
    return site


if __name__ == "__main__":
    sys.exit(main())
