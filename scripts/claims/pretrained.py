"""The quick start trains a pretrained model too: SmolLM2-135M in real pi, served by the CPU
build of vLLM. By how much it learned is told, whatever it is.

    scripts/smollm2/make && scripts/setup_vllm && scripts/evidence pretrained

Runs `ha quickstart --policy smollm2` once. A run that has finished below `--parts` is not made
again. The claim holds when the model solves some tasks, takes steps, and its report says whether
its reward rose.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from evidence import write_evidence
from quick_start import part

from harness_adapters.quickstart.policy import pretrained_folder

SEED = 0


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("out", type=Path)
    parser.add_argument("--parts", type=Path, help="Keep the run here.")
    parser.add_argument("--minutes", type=float, default=40)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        parts = (options.parts or Path(temporary)).absolute()
        parts.mkdir(parents=True, exist_ok=True)
        said = part(parts / "smollm2", SEED, options.minutes, "--policy", "smollm2")
        report = (parts / "smollm2" / "report.html").read_text()
    return write_evidence(
        *(options.out, __file__, __doc__),
        holds=said["steps"] > 0
        and said["base"]["pass1"] > 0
        and ("Reward rose:" in report or "Reward did not rise:" in report),
        versions=("torch", "trl", "peft"),
        minutes=options.minutes,
        seed=SEED,
        warm_start=warm_start(),
        learned=said,
    )


def warm_start() -> dict[str, Any]:
    """What the script that made the model measured, without every single step."""
    folder = pretrained_folder()
    log = folder.with_name(f"{folder.name}.log.jsonl")
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    begun = max(number for number, line in enumerate(lines) if "seed" in line)
    made = lines[begun:]
    return {
        "seed": made[0]["seed"],
        "last_step": [line for line in made if "loss" in line][-1],
        "commands_written_rightly": {
            f"step {line['step']}": line["commands"] for line in made if "commands" in line
        },
    }


if __name__ == "__main__":
    sys.exit(main())
