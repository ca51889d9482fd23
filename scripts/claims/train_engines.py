"""Three GRPO steps in real pi on each engine: server and trainer agree on non-zero adapters.

Usage: scripts/claims/train_engines.py OUT.json [--engines embedded,vllm]

The model has random weights, so what it earns is the share of even ids in what it says. After each
step the server's logprobs of the new version are compared with the trainer's (``parity_max``) and
with the base's (``change_min``): at step 0 lora_B is zero and the two cannot be told apart. vllm is
the CPU build; it needs scripts/setup_vllm.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))

from engine_contract import opened  # noqa: E402
from evidence import first_paragraph, write_evidence  # noqa: E402
from random_policy import IN_FLIGHT, SLOTS, random_policy  # noqa: E402
from training_runs import RANK, check_run, running  # noqa: E402

from harness_adapters.record.folder import read_rollouts  # noqa: E402
from harness_adapters.serve.engine import Hosting  # noqa: E402
from harness_adapters.train.folder import read_evaluations, read_steps  # noqa: E402

STEPS = 3
FLAGS = ("--dtype", "float32", "--enforce-eager")


def main() -> int:
    parser = argparse.ArgumentParser(description=first_paragraph(__doc__))
    parser.add_argument("out", type=Path)
    parser.add_argument("--engines", default="embedded,vllm")
    given = parser.parse_args()
    found = {}
    for engine in given.engines.split(","):
        with tempfile.TemporaryDirectory() as folder:
            found[engine] = trained(engine, Path(folder))
        print(f"{engine}: {json.dumps(found[engine])}", file=sys.stderr, flush=True)
    return write_evidence(
        given.out,
        __file__,
        __doc__,
        holds=all(one["holds"] for one in found.values()),
        versions=("trl", "peft", "torch"),
        engines=found,
    )


def trained(engine: str, folder: Path) -> dict[str, Any]:
    recipe, env = random_policy(folder, steps=STEPS, every=2)
    model = folder / "tiny"
    run = folder / "run"
    started = time.monotonic()
    with engine_word(engine, model) as word:
        words = ("--engine", word, "--out", run)
        with running(recipe, *words, cwd=folder, env=env) as training:
            code, told = training.end()
    if code:
        return {"holds": False, "exit": code, "told": told}
    check_run(run, steps=STEPS)
    steps = read_steps(run)
    canary = {
        step: {name: one["metrics"][f"canary/{name}"] for name in ("parity_max", "change_min")}
        for step, one in steps.items()
    }
    rollouts = list(read_rollouts(run))
    requests = [(turn.model, one.model) for one in rollouts for turn in one.transcript.turns]
    figures = {
        "seconds": round(time.monotonic() - started),
        "canary": canary,
        "ratio_of_first_step": steps[1]["metrics"]["ratio"],
        "rollouts": len(rollouts),
        "requests": len(requests),
        "requests_of_another_adapter": sum(asked != recorded for asked, recorded in requests),
        "evaluations": {step: one["finished"] for step, one in read_evaluations(run).items()},
    }
    # The canary of a step is that of the version it was begun with, so the first is still zero.
    later = [values for step, values in canary.items() if step > 1]
    holds = (
        all(one["parity_max"] < 1e-3 < one["change_min"] for one in later)
        and abs(figures["ratio_of_first_step"] - 1) < 1e-3
        and not figures["requests_of_another_adapter"]
        and figures["evaluations"] == {0: 2, 2: 2}
    )
    return {"holds": holds, **figures}


@contextmanager
def engine_word(engine: str, model: Path) -> Iterator[str]:
    """What ``ha train --engine`` is given."""
    if engine == "embedded":
        yield engine
        return
    hosting = Hosting(
        context=4096, requests=2 * IN_FLIGHT, adapters=SLOTS, rank=RANK, vllm_flags=FLAGS
    )
    with opened(f"vllm:{model}", hosting=hosting) as server:
        yield server.url


if __name__ == "__main__":
    sys.exit(main())
