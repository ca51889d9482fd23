"""What the quick start's recipe owes to each of its parts: the same run with one of them changed at
a time - the gate on solved rollouts, the bonus, the floor of the group's deviation, the learning
rate.

    scripts/evidence ablation

Runs `ha quickstart` once for each of the arms, ten minutes each by default. A run that has finished
below `--parts` is not made again. The claim holds when the recipe itself clearly needs fewer calls
(the interval ends below 1) and solves as much; what its changes do is told, whatever it is.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "support"))

from distributions import install  # noqa: E402
from evidence import write_evidence  # noqa: E402
from quick_start import FEWEST_POINTS, part  # noqa: E402

from harness_adapters.train.recipe import load_recipe  # noqa: E402
from harness_adapters.train.recipe_file import write_toml  # noqa: E402

SEED = 0
UNGATED = "tool_efficiency_ungated"
REWARD = f"""
from harness_adapters import RewardTerm, hookimpl

class Ungated:
    def shape(self, attempt):
        value = max(0.0, 0.1 * (1 - attempt.transcript.calls / 15))
        return RewardTerm(name="{UNGATED}", value=value)

class Plugin:
    ha_api_version = 1

    @hookimpl
    def ha_register_rewards(self, register):
        register("{UNGATED}", lambda options: Ungated(), summary="The bonus, solved or not.")

plugin = Plugin()
"""

ARMS: Mapping[str, dict[str, Any]] = {
    "the recipe": {},
    "bonus whether solved or not": {"rewards": [UNGATED]},
    "no bonus": {"options": {"rewards": {"tool_efficiency": {"weight": 0.0}}}},
    "no floor": {"advantage": {"std_floor": 0.0}},
    "the published learning rate": {"optimizer": {"learning_rate": 1e-5}},
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--parts", type=Path, help="Keep the runs here.")
    parser.add_argument("--minutes", type=float, default=10)
    options = parser.parse_args()
    found: dict[str, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory() as folder:
        parts = (options.parts or Path(folder)).absolute()
        parts.mkdir(parents=True, exist_ok=True)
        if not (parts / "site").exists():
            install(
                parts / "site", "ha-reward-ungated", "ha_reward_ungated:plugin", REWARD, UNGATED
            )
        os.environ["PYTHONPATH"] = str(parts / "site")
        for name, changes in ARMS.items():
            arm = parts / re.sub(r"\W+", "-", name)
            recipe = arm.with_suffix(".toml")
            recipe.write_text(
                write_toml(load_recipe("cpu").replace(changes).model_dump(mode="json"))
            )
            said = part(arm, SEED, options.minutes, "--recipe", str(recipe))
            found[name] = {"changes": changes, **said}
            ratio = said["calls_ratio"]
            print(f"{name}: calls x {ratio['est']:.2f}", file=sys.stderr, flush=True)
    shipped = found["the recipe"]
    return write_evidence(
        *(options.out, __file__, __doc__),
        holds=shipped["calls_ratio"]["hi"] < 1 and shipped["diff_pass1"]["lo"] > FEWEST_POINTS,
        versions=("torch", "trl", "peft"),
        minutes=options.minutes,
        seed=SEED,
        arms=found,
    )


if __name__ == "__main__":
    sys.exit(main())
