"""The six checks of one task and of a set."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from harness_adapters.errors import AgentError, BrokenTask, InfraError
from harness_adapters.protocols import TaskKind
from harness_adapters.sandbox.base import SandboxProvider
from harness_adapters.tasks.checks import evidence
from harness_adapters.tasks.checks.attempts import Bench, Solved
from harness_adapters.tasks.checks.baseline import baseline
from harness_adapters.tasks.checks.discrimination import discrimination
from harness_adapters.tasks.checks.evidence import Evidence, Finding, Status, skipped
from harness_adapters.tasks.checks.leak import leak
from harness_adapters.tasks.checks.solving import oracle, stability
from harness_adapters.tasks.checks.tamper import tamper
from harness_adapters.types import Task

CHECKS = ("oracle", "baseline", "stability", "tamper", "discrimination", "leak")
_UNSOLVED = "the solution does not score in full, see oracle"

Progress = Callable[[Evidence, int, int], None]


async def check_task(task: Task, kind: TaskKind, sandboxes: SandboxProvider) -> Evidence:
    """Make all six checks. Those that need a solution that works are skipped without one.

    A fault of the machine is the evidence's ``error``, and no finding of its task.
    """
    bench = Bench(task, kind, sandboxes)
    findings: list[Finding] = []
    error = ""

    async def make(name: str, found: Awaitable[Finding]) -> Finding:
        started = time.monotonic()
        finding = await found
        findings.append(replace(finding, seconds=time.monotonic() - started))
        return finding

    try:
        solved: Solved | None = None
        if (task.path / "solution" / "solve.sh").is_file():
            started = time.monotonic()
            solved, found = await _oracle(bench)
            findings.append(replace(found, seconds=time.monotonic() - started))
            if found.status is Status.FAILED:
                solved = None
            without = _UNSOLVED
        else:
            without = "there is no solution/solve.sh"
            findings.append(skipped("oracle", without))
        await make("baseline", baseline(bench, solved))
        if solved is None:
            findings.append(skipped("stability", without))
        else:
            await make("stability", stability(bench, solved))
        await make("tamper", tamper(bench, solved))
        if solved is None:
            findings.append(skipped("discrimination", without))
        else:
            await make("discrimination", discrimination(bench, solved))
        await make("leak", leak(bench, solved))
    except (InfraError, BrokenTask) as fault:
        error = str(fault)
    return Evidence(
        task=task.id, kind=task.kind, sha256=task.sha256, findings=findings, error=error
    )


async def check_tasks(
    tasks: Sequence[Task],
    kinds: Mapping[str, TaskKind],
    sandboxes: SandboxProvider,
    *,
    out: Path,
    concurrency: int = 2,
    progress: Progress | None = None,
) -> list[Evidence]:
    """Check a set and write one evidence file per task into ``out``; those that are there already,
    of the same task and the same checks, are taken as they are.

    :return: in the order of ``tasks``.
    """
    found: dict[str, Evidence] = {}
    turn = asyncio.Semaphore(concurrency)

    async def one(task: Task) -> None:
        known = evidence.read(task, out)
        if known is None:
            async with turn:
                known = await check_task(task, kinds[task.kind], sandboxes)
            evidence.write(known, out)
        found[task.id] = known
        if progress is not None:
            progress(known, len(found), len(tasks))

    async with asyncio.TaskGroup() as group:
        for task in tasks:
            group.create_task(one(task))
    return [found[task.id] for task in tasks]


async def _oracle(bench: Bench) -> tuple[Solved | None, Finding]:
    try:
        solved = await bench.solve()
    except AgentError as error:
        trial = evidence.Trial(what="oracle", ok=False, score=0.0, detail=str(error))
        return None, evidence.judged("oracle", [trial])
    return solved, oracle(bench, solved)
