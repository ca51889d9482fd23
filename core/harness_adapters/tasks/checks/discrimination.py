"""Discrimination: the verifier tells a right solution from one with a small fault."""

from __future__ import annotations

from harness_adapters.tasks.checks.attempts import Attempt, Bench, Solved
from harness_adapters.tasks.checks.evidence import Finding, Status, Trial, judged, skipped
from harness_adapters.tasks.checks.mutants import mutants, variant

MUTANTS = 10
MOST = 0.6
"""Share of mutants that must die. Some are no faults at all (a limit that nothing reaches), so it
cannot be all."""


async def discrimination(bench: Bench, solved: Solved) -> Finding:
    """Most mutants of the solution score less than it, and another way of writing it as much."""
    other = await bench.grade(Attempt(tree=variant(bench.original, solved.tree)), patient=True)
    same = Trial(
        what="the solution, written in another way",
        ok=other.passed,
        score=other.score,
        detail=other.detail or f"score {other.score:g}",
    )
    faulty = mutants(bench.original, solved.tree, seed=bench.task.sha256, limit=MUTANTS)
    if not faulty:
        return skipped("discrimination", "the solution leaves no text in the working folder")
    trials = []
    for what, tree in faulty.items():
        verdict = await bench.grade(Attempt(tree=tree))
        detail = f"scores {verdict.score:g}" if verdict.passed else verdict.detail
        trials.append(Trial(what=what, ok=not verdict.passed, score=verdict.score, detail=detail))
    died = sum(trial.ok for trial in trials)
    facts = {"mutants": len(trials), "died": died}
    told = f"{died} of {len(trials)} mutants die"
    if not same.ok:
        return judged("discrimination", [same, *trials], facts=facts)
    status = Status.PASSED if died >= MOST * len(trials) else Status.FAILED
    if status is Status.FAILED:
        told += f", fewer than {MOST:.0%}; one that lives: " + next(
            trial.what for trial in trials if not trial.ok
        )
    return Finding(
        check="discrimination",
        status=status,
        detail=told,
        trials=(same, *trials),
        facts=facts,
    )
