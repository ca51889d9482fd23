"""Oracle and stability: the reference solution scores in full, offline, and every time."""

from __future__ import annotations

from harness_adapters.tasks.checks.attempts import Attempt, Bench, Solved
from harness_adapters.tasks.checks.evidence import Finding, Trial, judged
from harness_adapters.tasks.subject.conditions import Conditions, under
from harness_adapters.types import Verdict

_DAY = 86_400
# Both sides of most dates that a test could hold, and of the international date line.
CONDITIONS = (
    Conditions(order=1, clock_shift=400 * _DAY, hash_seed=1, timezone="Pacific/Kiritimati"),
    Conditions(order=2, clock_shift=-1300 * _DAY, hash_seed=2, timezone="Etc/GMT+12"),
    Conditions(order=3, clock_shift=40 * _DAY + 11 * 3600, hash_seed=3, timezone="Asia/Kolkata"),
)


def oracle(bench: Bench, solved: Solved) -> Finding:
    """The bundle's solution, run without a network, scores 1."""
    ran, verdict = solved.ran, solved.verdict
    detail = verdict.detail or f"score {verdict.score:g}"
    if not _full(verdict):
        last = (ran.stderr or ran.stdout).decode(errors="replace").strip().splitlines()
        how = "timed out" if ran.timed_out else f"ended with {ran.returncode}"
        detail += f"; solve.sh {how}" + (f": {last[-1][:200]}" if last else "")
    trial = Trial(what="oracle", ok=_full(verdict), score=verdict.score, detail=detail)
    return judged("oracle", [trial], good="the solution scores 1 without a network")


async def stability(bench: Bench, solved: Solved) -> Finding:
    """Three more verifications of the same solved tree, each at another time, in another order and
    time zone and with another hash seed, give the same result for every test."""
    trials = []
    for conditions in CONDITIONS:
        with under(conditions):
            verdict = await bench.grade(Attempt(tree=solved.tree), patient=True)
        differs = _differences(solved.verdict, verdict)
        trials.append(
            Trial(
                what=f"order {conditions.order}, clock {conditions.clock_shift / _DAY:+.1f} days, "
                f"{conditions.timezone}",
                ok=_full(verdict) and not differs,
                score=verdict.score,
                detail=differs or verdict.detail or f"score {verdict.score:g}",
            )
        )
    return judged("stability", trials, good=f"{len(trials)} further runs agree")


def _full(verdict: Verdict) -> bool:
    return verdict.passed and verdict.score == 1.0


def _differences(first: Verdict, second: Verdict) -> str:
    names = sorted(
        name
        for name in {*first.tests, *second.tests}
        if first.tests.get(name) != second.tests.get(name)
    )
    if not names:
        return ""
    name = names[0]
    before, after = first.tests.get(name, "missing"), second.tests.get(name, "missing")
    return f"{name} {before}, then {after}; {second.detail}"
