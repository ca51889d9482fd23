"""What the six checks found, as it is written down."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from harness_adapters.errors import first_of
from harness_adapters.tasks.contents import read_text
from harness_adapters.types import Task

VERSION = 2
"""Of the checks; evidence of another version is made anew."""

MAX_BYTES = 16 * 1024 * 1024


class Status(StrEnum):
    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"  # it could not be looked at; the detail says why


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One attempt that was graded.

    :param what: who or what attempted it: ``oracle``, ``nop``, a mutant, an attack.
    :param ok: whether its score is what a sound task gives it.
    """

    what: str
    ok: bool
    score: float
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One of the six checks on one task."""

    check: str
    status: Status
    detail: str = ""
    trials: Sequence[Trial] = ()
    facts: Mapping[str, Any] = field(default_factory=dict[str, Any])
    seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """All that the checks found in one task.

    :param error: why they could not be made, when it was no fault of the task.
    """

    task: str
    kind: str
    sha256: str
    findings: Sequence[Finding] = ()
    error: str = ""

    @property
    def failed(self) -> list[Finding]:
        return [finding for finding in self.findings if finding.status is Status.FAILED]

    @property
    def ok(self) -> bool:
        return not self.error and not self.failed

    def to_json(self) -> dict[str, Any]:
        return {
            "version": VERSION,
            "task": self.task,
            "kind": self.kind,
            "sha256": self.sha256,
            "ok": self.ok,
            "error": self.error,
            "checks": {finding.check: _finding_json(finding) for finding in self.findings},
        }


def judged(
    check: str, trials: Iterable[Trial], *, good: str = "", facts: Mapping[str, Any] | None = None
) -> Finding:
    """A check that passes when every trial went as it must.

    :param good: the detail then.
    """
    trials = tuple(trials)
    wrong = [trial for trial in trials if not trial.ok]
    detail = good
    if wrong:
        detail = first_of([f"{trial.what}: {trial.detail}" for trial in wrong])
    status = Status.FAILED if wrong else Status.PASSED
    return Finding(check=check, status=status, detail=detail, trials=trials, facts=facts or {})


def skipped(check: str, why: str) -> Finding:
    return Finding(check=check, status=Status.SKIPPED, detail=why)


def write(evidence: Evidence, folder: Path) -> Path:
    """Write one task's evidence, whole or not at all."""
    path = folder / f"{evidence.task.replace('/', '__')}.json"
    draft = path.with_suffix(".part")
    draft.write_text(json.dumps(evidence.to_json(), indent=1) + "\n", "utf-8")
    draft.rename(path)
    return path


def read(task: Task, folder: Path) -> Evidence | None:
    """What was found before, if the task and the checks are still the same."""
    path = folder / f"{task.id.replace('/', '__')}.json"
    if not path.is_file():
        return None
    try:
        content = json.loads(read_text(path, max_bytes=MAX_BYTES))
        if content["version"] != VERSION or content["sha256"] != task.sha256 or content["error"]:
            return None
        findings = [
            Finding(
                check=name,
                status=Status(found["status"]),
                detail=found["detail"],
                trials=tuple(Trial(**trial) for trial in found["trials"]),
                facts=found["facts"],
                seconds=found["seconds"],
            )
            for name, found in content["checks"].items()
        ]
    except (ValueError, KeyError, TypeError, AttributeError):
        return None  # not ours, or torn: it is made anew
    return Evidence(task=task.id, kind=task.kind, sha256=task.sha256, findings=findings)


def _finding_json(finding: Finding) -> dict[str, Any]:
    return {
        "status": finding.status.value,
        "detail": finding.detail,
        "seconds": round(finding.seconds, 2),
        "facts": dict(finding.facts),
        "trials": [
            {"what": t.what, "ok": t.ok, "score": t.score, "detail": t.detail}
            for t in finding.trials
        ],
    }
