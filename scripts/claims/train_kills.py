"""Training survives kill -9 at random moments: nothing is torn, nothing finished is lost.

Usage: scripts/claims/train_kills.py OUT.json [--kills N] [--seed N]

Each time ``ha train`` (with its own engine) is started or gone on with, and some seconds after
it serves, one of its processes is killed: the command, the trainer (rollout worker and gateway live
in it) or the engine. Then all others must go, sandboxes included; every log must read to its end,
with every rollout that was in it before; and the next start must go on. At the end two more steps
are trained.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import psutil

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))

from evidence import first_paragraph, write_evidence  # noqa: E402
from random_policy import random_policy  # noqa: E402
from training_runs import check_run, running  # noqa: E402

from harness_adapters.record.folder import read_rollouts  # noqa: E402
from harness_adapters.train.folder import read_groups, read_steps  # noqa: E402

MANY_STEPS = 10_000
LONGEST_SECONDS = 20.0
GONE_SECONDS = 60.0


def main() -> int:
    parser = argparse.ArgumentParser(description=first_paragraph(__doc__))
    parser.add_argument("out", type=Path)
    parser.add_argument("--kills", type=int, default=30)
    parser.add_argument("--seed", type=int, default=time.time_ns() % 2**31)
    given = parser.parse_args()
    chance = random.Random(given.seed)
    with tempfile.TemporaryDirectory() as folder:
        figures = killed(Path(folder), given.kills, chance)
    return write_evidence(
        given.out,
        __file__,
        __doc__,
        holds=not figures["faults"],
        versions=("trl", "peft", "torch"),
        tell={"faults": figures["faults"]},
        seed=given.seed,
        **figures,
    )


def killed(folder: Path, kills: int, chance: random.Random) -> dict[str, Any]:
    recipe, env = random_policy(folder, steps=MANY_STEPS)
    run = folder / "run"
    victims: Counter[str] = Counter()
    faults: list[str] = []
    begun = time.monotonic()
    for number in range(kills):
        before = state(run)
        with running(*words(recipe, run), cwd=folder, env=env) as training:
            try:
                training.until("serving")
            except AssertionError as error:
                faults.append(f"kill {number}: it did not go on: {str(error)[-500:]}")
                break
            time.sleep(chance.uniform(0, LONGEST_SECONDS))
            command = psutil.Process(training.process.pid)
            family = [command, *command.children(recursive=True)]
            name, victim = chance.choice(sorted(ours(family).items()))
            victim.kill()
            victims[name] += 1
            training.end()
            _, left = psutil.wait_procs(family, timeout=GONE_SECONDS)
        faults += [f"kill {number} of the {name}: {one} is left" for one in map(described, left)]
        faults += [f"kill {number} of the {name}: {lost}" for lost in losses(before, state(run))]
        say(f"kill {number} of the {name}: {state(run)[1]} steps, {len(state(run)[0])} rollouts")
    last = state(run)[1] + 2
    with running(*words(recipe, run), "--steps", str(last), cwd=folder, env=env) as training:
        code, told = training.end()
    if code:
        faults.append(f"it did not end: {told}")
    else:
        check_run(run, steps=last)
    return {
        "faults": faults,
        "kills": dict(sorted(victims.items())),
        "steps": state(run)[1],
        "rollouts": len(state(run)[0]),
        "groups": dict(sorted(Counter(one["fate"] for one in read_groups(run).values()).items())),
        "seconds": round(time.monotonic() - begun),
    }


def words(recipe: Path, run: Path) -> list[str | Path]:
    if (run / "training.json").exists():
        return ["--resume", run, "--engine", "embedded"]
    return [recipe, "--engine", "embedded", "--out", run]


def ours(family: list[psutil.Process]) -> dict[str, psutil.Process]:
    """The processes of training by name; the others are sandboxes and what runs in them."""
    found = {"command": family[0]}
    for process in family[1:]:
        try:
            line = process.cmdline()
        except psutil.Error:
            continue
        if "harness_adapters.train" in line:
            found["trainer"] = process
        elif any("harness_adapters.serve.embedded" in word for word in line):
            found["engine"] = process
    return found


State = tuple[set[tuple[str, int]], int]


def state(run: Path) -> State:
    """Rollouts and the last step on disk; reading fails where a log is torn in its middle."""
    if not (run / "manifest.json").exists():
        return set(), 0
    rollouts = {(one.task_id, one.attempt) for one in read_rollouts(run)}
    steps = read_steps(run)
    return rollouts, max(steps, default=0)


def losses(before: State, after: State) -> list[str]:
    found = [f"rollout {one} is lost" for one in sorted(before[0] - after[0])]
    if after[1] < before[1]:
        found.append(f"step {before[1]} is lost")
    return found


def described(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())[:120]
    except psutil.Error:
        return str(process)


def say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
