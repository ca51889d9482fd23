"""The shipped tasks in five real harnesses: all solve what the oracle solves, with the same
verdicts, and as many calls where an edit tool takes as much in one; doing nothing solves nothing; a
cheat never pays and is never excused.

Claude Code and Codex are driven from their wheels, in an environment with the wheel of
harness-adapters. mini-swe-agent, which declares one tool of its own, is shown beside them.

Usage: scripts/claims/harness_tasks.py OUT.json [--limit N] [--parts FOLDER]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean, median
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from evidence import write_evidence, write_json
from harnesses.environment import HARNESSES, ROOT, make_environment

PLAYS = {"oracle": 1, "nop": 6, "cheat": 3}
"""Play -> every how manyth task it is played on."""
ONE_EDIT = ("opencode", "hermes", "claudecode")
MANY_EDITS = ("pi", "codex")
"""Their edit tool takes several edits of a file in one call."""
FIVE = (*ONE_EDIT, *MANY_EDITS)
AT_ONCE = 2


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--limit", type=int, default=24)
    parser.add_argument("--parts", type=Path, help="keep finished parts here, and go on with them")
    parser.add_argument("--only", nargs=2, metavar=("HARNESS", "PLAY"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.only:
        rows = asyncio.run(play(*options.only, options.limit))
        write_json(options.out, rows)
        return 0
    started = time.time()
    with tempfile.TemporaryDirectory(prefix="ha-claim-") as name:
        folder = Path(name)
        environment = None
        parts = (options.parts or folder / "parts").resolve()
        parts.mkdir(parents=True, exist_ok=True)
        for what in PLAYS:
            for harness in HARNESSES:
                part = parts / f"{harness}-{what}.json"
                if part.exists():
                    continue
                print(f"{time.strftime('%H:%M:%S')} {harness} {what}", file=sys.stderr, flush=True)
                environment = environment or make_environment(folder)
                words = ("--limit", str(options.limit), "--only", harness, what)
                done = environment.run(Path(__file__).resolve(), part, *words, cwd=folder)
                if done.returncode:
                    sys.exit(done.stderr[-4000:])
        rows = {
            harness: {
                what: json.loads((parts / f"{harness}-{what}.json").read_text()) for what in PLAYS
            }
            for harness in HARNESSES
        }
    held = holds(rows)
    return write_evidence(
        options.out,
        __file__,
        __doc__,
        holds=all(held.values()),
        tell=held,
        held=held,
        seconds=round(time.time() - started),
        sessions_at_once=AT_ONCE,
        every_nth_task=PLAYS,
        harnesses={harness: summary(rows[harness]) for harness in HARNESSES},
        by_task={
            harness: {
                what: {row["task"]: [row["outcome"], row["calls"]] for row in rows[harness][what]}
                for what in PLAYS
            }
            for harness in HARNESSES
        },
    )


async def play(harness: str, what: str, limit: int) -> list[dict[str, Any]]:
    from harnesses.rollouts import figures, in_turn, metered, prepared

    from harness_adapters import load_tasks
    from harness_adapters.serve.engine import open_engine, parse_engine

    tasks = load_tasks(ROOT / "examples" / "tasks")[0][:limit][:: PLAYS[what]]
    with tempfile.TemporaryDirectory(prefix="ha-claim-") as logs:
        async with (
            open_engine(parse_engine(f"scripted:{what}"), tasks=tasks) as engine,
            prepared(harness, tasks, engine.url, engine.model, guards=None) as setup,
        ):
            jobs = [metered(task, setup, Path(logs) / task.id) for task in tasks]
            return [figures(*one) for one in await in_turn(jobs, AT_ONCE)]


def holds(rows: dict[str, dict[str, list[dict[str, Any]]]]) -> dict[str, bool]:
    def all_are(what: str, *outcomes: str) -> bool:
        return all(row["outcome"] in outcomes for h in HARNESSES for row in rows[h][what])

    def alike(harnesses: Sequence[str], what: str, field: str) -> bool:
        first, *others = ({row["task"]: row[field] for row in rows[h][what]} for h in harnesses)
        return all(other == first for other in others)

    return {
        "the oracle solves every task in every harness": all_are("oracle", "solved"),
        "the same verdicts in the five": all(alike(FIVE, what, "outcome") for what in PLAYS),
        "as many calls where edit tools are alike": all(
            alike(group, "oracle", "calls") for group in (ONE_EDIT, MANY_EDITS)
        ),
        "each call is counted once": all(
            row["requests"] == row["calls"] + 1 for h in FIVE for row in rows[h]["oracle"]
        ),
        "doing nothing fails, and is no fault of the machine": all_are("nop", "failed"),
        "no cheat is paid or excused": all_are("cheat", "guard_blocked", "failed")
        and all(row["reward"] == 0 for h in HARNESSES for row in rows[h]["cheat"]),
        "nothing is asked beside the main loop": all(
            not row["refused"] and not row["side_requests"]
            for h in HARNESSES
            for what in PLAYS
            for row in rows[h][what]
        ),
    }


def summary(plays: dict[str, list[dict[str, Any]]]) -> dict[str, Any]:
    solved = plays["oracle"]
    requests = sum(row["requests"] for row in solved)
    return {
        "version": solved[0]["harness_version"],
        "outcomes": {what: dict(Counter(row["outcome"] for row in plays[what])) for what in PLAYS},
        "flags": dict(
            Counter(flag for what in PLAYS for row in plays[what] for flag in row["flags"])
        ),
        "training_rows_per_session": dict(Counter(str(row["rows"]) for row in solved)),
        "calls_per_session": round(fmean(row["calls"] for row in solved), 2),
        "requests_per_session": round(requests / len(solved), 2),
        "prompt_tokens_per_request": round(sum(row["prompt_tokens"] for row in solved) / requests),
        "prompt_tokens_per_session": round(fmean(row["prompt_tokens"] for row in solved)),
        "sampled_tokens_per_session": round(fmean(row["sampled_tokens"] for row in solved)),
        "cpu_seconds_per_session": round(median(row["cpu_seconds"] for row in solved), 1),
        "peak_mb_per_session": round(median(row["peak_mb"] for row in solved)),
        "wall_seconds_per_session": round(median(row["harness_seconds"] for row in solved), 1),
    }


if __name__ == "__main__":
    sys.exit(main())
