#!/usr/bin/env python3
"""How the tiny policy was made, and what it does untrained on held-out tasks in a real harness.

    scripts/evidence tiny_policy

Runs the shipped policy on the held-out tasks of `ha quickstart` in each harness, sampled as in
training. How it was made is read from `scripts/tiny_policy/made.jsonl`, the trainer's own log.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from evidence import write_evidence

import harness_adapters as ha
from harness_adapters.evaluation.proportions import wilson
from harness_adapters.quickstart.policy import policy_folder
from harness_adapters.quickstart.questions import combination, questions
from harness_adapters.quickstart.tasks import held_out_questions, write_tasks
from harness_adapters.tasks.questions import Question

ROOT = Path(__file__).resolve().parents[2]
MADE = ROOT / "scripts" / "tiny_policy" / "made.jsonl"
HARNESSES = ("pi", "opencode", "hermes")


def main() -> int:
    only = os.environ.get("TINY_POLICY_HARNESSES")
    harnesses = only.split(",") if only else HARNESSES
    return write_evidence(
        Path(sys.argv[1]),
        __file__,
        __doc__,
        holds=None,
        versions=("torch", "transformers"),
        policy=policy(),
        made=[json.loads(line) for line in MADE.read_text("utf-8").splitlines()],
        held_out=held_out(),
        untrained={name: measured(name) for name in harnesses},
    )


def policy() -> dict[str, Any]:
    files = sorted(policy_folder().iterdir())
    return {
        "bytes": sum(file.stat().st_size for file in files),
        "sha256": {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in files},
    }


def held_out() -> dict[str, Any]:
    """Which of what is asked about the held-out tasks occurs in the policy's training questions."""
    begun = json.loads(MADE.read_text("utf-8").splitlines()[0])
    held = list(held_out_questions())
    halves = range(2 * begun["seed"], 2 * begun["seed"] + 2)
    trained = (one for seed in halves for one in questions(seed, begun["questions"] // 2, "train"))
    tables, asked, texts, number = set[str](), set[Any](), set[str](), 0
    for question in trained:
        tables.add(question.table)
        asked.add(combination(question.query))
        texts |= set(digests(question))
        number += 1
    return {
        "tasks": len(held),
        "tables": len({question.table for question in held}),
        "training_questions": number,
        "shared_tables": sum(question.table in tables for question in held),
        "shared_combinations": sum(combination(question.query) in asked for question in held),
        "shared_texts_or_files": len({d for question in held for d in digests(question)} & texts),
        "shared_words": "names of subjects, variants, columns and values are shared by design",
    }


def digests(question: Question) -> Iterator[str]:
    for text in (question.instruction.encode(), *question.files.values()):
        yield hashlib.sha256(text).hexdigest()


def measured(harness: str) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        tasks, run = Path(folder, "tasks"), Path(folder, "run")
        write_tasks(tasks, seed=0, trained=1)
        ha.run(tasks, harness=harness, engine=f"embedded:{policy_folder()}", out=run, split="test")
        rows = pq.read_table(run / "rollouts.parquet").to_pylist()
    counted = [row for row in rows if row["reward"] is not None]
    solved = [row for row in counted if row["outcome"] == "solved"]
    families: dict[str, list[bool]] = {}
    for question in held_out_questions():
        ended = [row for row in counted if row["task_id"] == question.id]
        families.setdefault(kind_of(question), []).extend(
            row["outcome"] == "solved" for row in ended
        )
    return {
        "sessions": len(rows),
        "counted": len(counted),
        "solved": len(solved),
        "solve_rate_95": [round(bound, 3) for bound in wilson(len(solved), len(counted))],
        "mean_calls": mean(row["calls"] for row in counted),
        "mean_calls_solved": mean(row["calls"] for row in solved),
        "calls": dict(sorted(Counter(row["calls"] for row in counted).items())),
        "solved_by_family": {name: f"{sum(ok)}/{len(ok)}" for name, ok in families.items()},
    }


def kind_of(question: Question) -> str:
    bounded = any(condition.op != "is" for condition in question.query.where)
    return f"{question.family} by a bound" if bounded else question.family


def mean(values: Iterable[float]) -> float | None:
    found = list(values)
    return round(sum(found) / len(found), 2) if found else None


if __name__ == "__main__":
    sys.exit(main())
