"""``check_set``: the six checks over a folder of bundles, with evidence to go on with."""

from __future__ import annotations

import asyncio
import json
import secrets
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness_adapters.chosen import Chosen, choose_tasks
from harness_adapters.errors import BadInput, BrokenTask
from harness_adapters.plugins import Plugins
from harness_adapters.sandbox.providers import provider
from harness_adapters.tasks.checks.check import CHECKS, check_tasks
from harness_adapters.tasks.checks.evidence import Evidence
from harness_adapters.tasks.images import check_images

SUMMARY = "summary.json"
_MARK = "checks.json"

Progress = Callable[[Evidence, int, int], None]


@dataclass(frozen=True, kw_only=True)
class CheckedSet:
    """What came of a set.

    :param planned: how many tasks were to be checked.
    :param evidence: of those that were.
    :param broken: tasks that cannot be read.
    """

    out: Path
    planned: int
    evidence: list[Evidence] = field(default_factory=list[Evidence])
    broken: list[BrokenTask] = field(default_factory=list[BrokenTask])

    @property
    def ok(self) -> bool:
        return (
            not self.broken
            and len(self.evidence) == self.planned
            and all(found.ok for found in self.evidence)
        )

    def to_json(self) -> dict[str, Any]:
        by_check = {
            name: dict(
                Counter(
                    finding.status.value
                    for found in self.evidence
                    for finding in found.findings
                    if finding.check == name
                )
            )
            for name in CHECKS
        }
        return {
            "out": str(self.out),
            "planned": self.planned,
            "checked": len(self.evidence),
            "passed": sum(found.ok for found in self.evidence),
            "failed": sum(bool(found.failed) for found in self.evidence),
            "infra": sum(bool(found.error) for found in self.evidence),
            "broken": len(self.broken),
            "checks": by_check,
            "failures": [
                {"task": found.task, "check": finding.check, "detail": finding.detail}
                for found in self.evidence
                for finding in found.failed
            ],
            "faults": [
                {"task": found.task, "error": found.error} for found in self.evidence if found.error
            ],
        }


class CheckInterrupted(KeyboardInterrupt):
    """Ctrl-C; the evidence of what finished is on disk and in ``result``."""

    def __init__(self, result: CheckedSet) -> None:
        super().__init__()
        self.result = result


def check_set(
    tasks: Path | str,
    *,
    out: Path | str | None = None,
    resume: bool = False,
    kind: str | None = None,
    split: str | None = None,
    limit: int | None = None,
    concurrency: int = 2,
    sandbox: str | None = None,
    plugins: Plugins | None = None,
    progress: Progress | None = None,
) -> CheckedSet:
    """Make the six checks of every selected task and write an evidence file for each.

    :param tasks: a folder of bundles in Harbor's format, ours or foreign ones.
    :param out: folder for the evidence; by default a new one below ``checks/``.
    :param resume: go on with what ``out`` holds; what has changed since is checked anew.
    :raises BadInput: nothing was started; the message says what to do.
    :raises CheckInterrupted: Ctrl-C.
    """
    out = Path(out) if out else Path("checks") / f"{time.strftime('%Y%m%d-%H%M%S')}-{_suffix()}"
    chosen = choose_tasks(
        plugins or Plugins.load(), tasks, kind=kind, split=split, limit=limit, sandbox=sandbox
    )
    _open(out, resume=resume)
    finished: list[Evidence] = []

    def note(found: Evidence, done: int, planned: int) -> None:
        finished.append(found)
        if progress is not None:
            progress(found, done, planned)

    def result() -> CheckedSet:
        places = {task.id: place for place, task in enumerate(chosen.tasks)}
        checked = CheckedSet(
            out=out,
            planned=len(chosen.tasks),
            evidence=sorted(finished, key=lambda found: places[found.task]),
            broken=chosen.broken,
        )
        (out / SUMMARY).write_text(json.dumps(checked.to_json(), indent=1) + "\n", "utf-8")
        return checked

    try:
        asyncio.run(_check(chosen, out, concurrency, sandbox, note))
    except KeyboardInterrupt:
        raise CheckInterrupted(result()) from None
    return result()


async def _check(
    chosen: Chosen, out: Path, concurrency: int, sandbox: str | None, progress: Progress
) -> None:
    sandboxes = await provider(sandbox)
    await check_images(chosen.tasks, sandboxes)
    await check_tasks(
        chosen.tasks,
        chosen.kinds,
        sandboxes,
        out=out,
        concurrency=concurrency,
        progress=progress,
    )


def _open(out: Path, *, resume: bool) -> None:
    """Make the folder, or see that it is one of ours to go on with."""
    if out.is_dir() and any(out.iterdir()):
        if not resume:
            raise BadInput(f"{out} exists; go on with it by --resume, or name another --out")
        if not (out / _MARK).is_file():
            raise BadInput(f"{out} holds no evidence of earlier checks; name another --out")
    elif out.exists() and not out.is_dir():
        raise BadInput(f"{out} is no folder; name another --out")
    try:
        out.mkdir(parents=True, exist_ok=True)
        (out / _MARK).write_text(json.dumps({"checks": CHECKS}) + "\n", "utf-8")
    except OSError as error:
        raise BadInput(f"cannot write {out}: {error.strerror}") from None


def _suffix() -> str:
    return secrets.token_hex(2)
