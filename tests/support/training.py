"""Made-up sessions for tests of training: no harness, no model, exact rows."""

from __future__ import annotations

from array import array
from pathlib import Path

from harness_adapters.gateway.transcript import Transcript, Turn
from harness_adapters.types import (
    Outcome,
    RewardTerm,
    Rollout,
    Task,
    TaskMetadata,
)


def task(name: str = "t0", *, kind: str = "qa") -> Task:
    return Task(
        id=name,
        instruction=f"do {name}",
        path=Path("/nowhere") / name,
        metadata=TaskMetadata(kind=kind, cluster=name),
    )


def turns(*spans: tuple[list[int], list[int]], model: str) -> tuple[Turn, ...]:
    """Each turn continues the one before: (what its prompt adds, what was sampled)."""
    return tuple(
        Turn(
            index=index,
            new_messages=({"role": "user", "content": f"{index}"},),
            reply={"role": "assistant", "content": "ok"},
            parent=index - 1 if index else None,
            new_prompt_ids=array("i", prompt),
            sampled_ids=array("i", sampled),
            logprobs=array("f", [-0.5] * len(sampled)),
            model=model,
        )
        for index, (prompt, sampled) in enumerate(spans)
    )


def rollout(
    name: str = "t0",
    attempt: int = 0,
    *,
    model: str,
    reward: float | None = 1.0,
    seconds: float = 1.0,
    transcript: Transcript | None = None,
) -> Rollout:
    """``reward=None`` for one that ended as ``infra``."""
    if transcript is None:
        spans = (([1, 2, 3], [4, 5]), ([6], [7, 8]))
        transcript = Transcript(turns=turns(*spans, model=model), token_exact=True)
    infra = reward is None
    return Rollout(
        task_id=name,
        cluster=name,
        kind="qa",
        attempt=attempt,
        tries=1,
        session_id=f"{name}-{attempt}",
        model=model,
        outcome=Outcome.INFRA if infra else Outcome.SOLVED if reward else Outcome.FAILED,
        flags=frozenset(),
        reward=reward,
        terms=[] if reward is None else [RewardTerm(name="verifier", value=reward)],
        verdict=None,
        calls=1,
        seconds=seconds,
        transcript=transcript,
    )
