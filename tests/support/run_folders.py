"""Small run folders, written through the real record."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from unittest.mock import patch

from harness_adapters import (
    Decision,
    Finding,
    JudgedCall,
    Outcome,
    Rollout,
    Severity,
    Transcript,
    Turn,
    Verdict,
)
from harness_adapters.outcomes import BLOCKED
from harness_adapters.record.folder import RunFolder
from harness_adapters.record.manifest import Manifest


def attempt(
    task_id: str = "t0",
    *,
    cluster: str = "c0",
    number: int = 0,
    outcome: Outcome = Outcome.SOLVED,
    passed: bool | None = None,
    calls: int = 3,
    tokens: int | None = 40,
    seconds: float = 2.0,
    kind: str = "repair",
    difficulty: str = "",
) -> Rollout:
    """One rollout: a turn per call and a closing turn; a blocked outcome adds one blocked call.

    :param passed: the verifier's word; by default it follows the outcome.
    :param tokens: of the whole session; ``None`` for an engine that does not say.
    """
    blocked = outcome in BLOCKED
    infra = outcome is Outcome.INFRA
    turns = [_turn(index, (_call(Decision.ALLOW),)) for index in range(calls)]
    turns.append(_turn(calls, (_call(Decision.BLOCK),) if blocked else (), tokens))
    if tokens is None:
        turns = [_turn(turn.index, turn.calls, None) for turn in turns]
    good = outcome is Outcome.SOLVED if passed is None else passed
    return Rollout(
        task_id=task_id,
        cluster=cluster,
        kind=kind,
        difficulty=difficulty,
        attempt=number,
        tries=1,
        session_id=f"{task_id}.{number}",
        model="m",
        outcome=outcome,
        flags=frozenset(),
        reward=None if infra else float(good and not blocked),
        terms=(),
        verdict=None if infra else Verdict(passed=good, score=float(good)),
        calls=0 if infra else calls,
        seconds=seconds,
        transcript=Transcript() if infra else Transcript(turns=tuple(turns)),
        error="gone" if infra else "",
    )


def write_run(
    path: Path, rollouts: Iterable[Rollout], *, tasks: Iterable[str] | None = None, **changes: Any
) -> Path:
    """A run folder with these rollouts; by default its plan is just their tasks and attempts."""
    rollouts = list(rollouts)
    planned = sorted({one.task_id for one in rollouts} if tasks is None else tasks)
    values: dict[str, Any] = {
        "tasks": dict.fromkeys(planned, "0" * 64),
        "attempts": 1 + max((one.attempt for one in rollouts), default=0),
        **changes,
    }
    with patch("os.fsync"):  # hundreds of rollouts need not survive a power cut
        folder = RunFolder.create(path, manifest(**values))
        for one in rollouts:
            folder.add(one)
        folder.close()
    return path


def manifest(**changes: Any) -> Manifest:
    values: dict[str, Any] = {
        "created": "2026-01-01T00:00:00Z",
        "host": {},
        "concurrency": 4,
        "version": "0.1.0",
        "components": [],
        "component_options": {},
        "harness": "pi",
        "harness_version": "0.73.1",
        "engine": {"name": "http://127.0.0.1:8000", "url": "http://127.0.0.1:8000"},
        "template": "",
        "model": "m",
        "sampling": {"temperature": 0.8},
        "limits": {"default": {"session_seconds": 300.0, "max_requests": 20}},
        "attempts": 1,
        "infra_retries": 2,
        "sandbox": "bubblewrap",
        "sandbox_lost": [],
        "policy": "abc",
        "tasks": {},
    }
    return Manifest(**{**values, **changes})


def _turn(index: int, calls: tuple[JudgedCall, ...], tokens: int | None = 0) -> Turn:
    return Turn(
        index=index,
        new_messages=(),
        reply={"role": "assistant", "content": ""},
        parent=index - 1 if index else None,
        calls=calls,
        sampled_ids=array("i", range(tokens or 0)),
        usage={} if tokens is None else {"prompt_tokens": 1, "completion_tokens": tokens},
    )


def _call(decision: Decision) -> JudgedCall:
    finding = Finding(rule="tamper.tests", severity=Severity.BLOCK, message="m")
    held = decision is Decision.BLOCK
    return JudgedCall(
        id="c",
        name="bash",
        arguments={},
        decision=decision,
        findings=(finding,) if held else (),
    )
