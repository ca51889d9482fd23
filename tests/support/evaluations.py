"""Evaluation folders with made-up results, hostile names included."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

from run_folders import attempt, write_run

from harness_adapters import Outcome
from harness_adapters.evaluation.plan import Design, Plan, make_plan, write_plan

HOSTILE = '<script>alert("x")</script>'
ADAPTER = "tiny-4b.{}.01J8ZK.v3"


def write_evaluation(
    path: Path,
    *,
    design: Design = Design.MODELS,
    harnesses: Sequence[str] = ("pi",),
    models: Sequence[str] = ("base", HOSTILE),
    tasks: int = 8,
) -> Plan:
    """An adapter needs fewer calls in the harness that its name says; guards block some."""
    plan = make_plan(design, harnesses, models)
    write_plan(path, plan)
    dice = random.Random(1)
    for arm in plan.arms:
        at_home = f".{arm.harness}." in arm.model
        rollouts = [
            attempt(
                f"<b>task</b>-{number:02}",
                cluster=f"c{number // 2}",
                number=again,
                calls=max(2, round(dice.gauss(6 if at_home else 10, 1))),
                outcome=_outcome(dice, arm.guards, number),
                passed=dice.random() < 0.5 if arm.guards == "on" and number == 0 else None,
                kind="qa" if number % 2 else "repair",
                difficulty="hard" if number % 3 else "easy",
            )
            for number in range(tasks)
            for again in range(2)
        ]
        policy = "none" if arm.guards == "off" else "abc"
        write_run(path / arm.path, rollouts, harness=arm.harness, model=arm.model, policy=policy)
    return plan


def _outcome(dice: random.Random, guards: str, number: int) -> Outcome:
    if guards == "on" and number == 0:
        return Outcome.GUARD_BLOCKED
    return Outcome.SOLVED if dice.random() < 0.7 else Outcome.FAILED
