"""Three trainers at once, for pi, opencode and hermes, on one embedded engine: each adapter has a
name of its own, every rollout is sampled from one version of its own harness's adapter, none is
lost to the engine, and each report says whether its reward rose.

    scripts/evidence three_harnesses

Runs `ha quickstart --harness pi,opencode,hermes` once.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import mean
from typing import Any

from evidence import write_evidence
from quick_start import HA, steps

from harness_adapters.record.folder import read_rollouts
from harness_adapters.train.names import AdapterName
from harness_adapters.types import Outcome

HARNESSES = ("pi", "opencode", "hermes")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("out", type=Path)
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--parts", type=Path, help="Keep the run here, and go on with it.")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.parts or Path(temporary) / "run"
        command = [
            "quickstart",
            "--harness",
            ",".join(HARNESSES),
            "--minutes",
            str(options.minutes),
        ]
        resume = ["--resume"] if folder.exists() else []
        ran = subprocess.run(
            [*HA, *command, "--out", str(folder), "--json", *resume],
            stdout=subprocess.PIPE,
            text=True,
        )
        if ran.returncode:
            sys.exit(f"exit code {ran.returncode}")
        said = json.loads(ran.stdout.splitlines()[-1])["harnesses"]
        found = {one["harness"]: told(one, folder / "train") for one in said}
        report = (folder / "report.html").read_text()
    served = [name for one in found.values() for name in one["adapters_sampled"]]
    return write_evidence(
        *(options.out, __file__, __doc__),
        holds=set(found) == set(HARNESSES)
        and len(served) == len(set(served))
        and not any(one["of_another"] or one["mixed"] or one["infra"] for one in found.values())
        and report.count("Reward rose:") + report.count("Reward did not rise:") == len(HARNESSES),
        versions=("torch", "trl", "peft"),
        minutes=options.minutes,
        harnesses=found,
    )


def told(said: dict[str, Any], root: Path) -> dict[str, Any]:
    """What one harness's quick start says, and what its training run holds."""
    harness = said["harness"]
    (run,) = root.glob(f"*.{harness}")
    rollouts = list(read_rollouts(run))
    names = {one.model for one in rollouts if one.model}
    parsed = [AdapterName.parse(name) for name in names]
    taken = steps(run)
    rewards = [one["reward"] for one in taken if "reward" in one]
    third = max(1, len(rewards) // 3)
    return {
        **{key: said[key] for key in ("base", "adapter", "diff_pass1", "calls_ratio", "steps")},
        "reward": {"first third": mean(rewards[:third]), "last third": mean(rewards[-third:])},
        "rollouts": len(rollouts),
        "infra": sum(one.outcome is Outcome.INFRA for one in rollouts),
        "mixed": sum(len({turn.model for turn in one.transcript.turns}) > 1 for one in rollouts),
        "of_another": sum(name is None or name.harness != harness for name in parsed),
        "adapters_sampled": sorted(names),
        "steps_taken": taken,
    }


if __name__ == "__main__":
    sys.exit(main())
