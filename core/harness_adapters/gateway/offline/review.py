"""A person's word on blocked calls: right to block, or a false block. Kept beside the run."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from harness_adapters.evaluation.proportions import clopper_pearson
from harness_adapters.gateway.transcript import Decision, JudgedCall
from harness_adapters.record import log
from harness_adapters.record.folder import file_name, read_manifest, read_rollouts
from harness_adapters.record.trajectory import text_of

REVIEWS = "reviews.log"


class Review(StrEnum):
    ACCEPT = "accept"  # the call was rightly blocked
    REJECT = "reject"  # it should have been let through


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockedCall:
    """A blocked call of a run.

    :param place: the call's place in its turn, from 0; with the session and turn it is unique.
    """

    rollout: str
    instruction: str
    session_id: str
    turn: int
    place: int
    call: JudgedCall

    @property
    def key(self) -> tuple[str, int, int]:
        return self.session_id, self.turn, self.place

    @property
    def rules(self) -> list[str]:
        return [finding.rule for finding in self.call.findings]


class Reviews:
    """The blocked calls of a run folder and what was said about them; the last word counts.

    :raises BadInput: there is no run, or its files are damaged.
    """

    def __init__(self, run: Path) -> None:
        read_manifest(run)
        self.calls = tuple(_blocked(run))
        self._path = run / REVIEWS
        self._said = {
            (str(one["session_id"]), int(one["turn"]), int(one["place"])): Review(one["review"])
            for one in log.read(self._path)
        }

    def of(self, call: BlockedCall) -> Review | None:
        return self._said.get(call.key)

    @property
    def open(self) -> list[BlockedCall]:
        return [call for call in self.calls if self.of(call) is None]

    def add(self, call: BlockedCall, review: Review) -> None:
        """On the disk when this returns."""
        file = log.Log(self._path)
        try:
            file.append(
                {
                    "session_id": call.session_id,
                    "turn": call.turn,
                    "place": call.place,
                    "rules": call.rules,
                    "review": review.value,
                    "time": time.time(),
                }
            )
        finally:
            file.close()
        self._said[call.key] = review

    def to_json(self) -> dict[str, Any]:
        """``false_block_rate`` is over reviewed calls, with the exact interval."""
        said = [(call, self.of(call)) for call in self.calls]
        by_rule: dict[str, dict[str, int]] = {}
        for call, review in said:
            for rule in sorted(set(call.rules)):
                counts = by_rule.setdefault(rule, {"blocked": 0, "accepted": 0, "rejected": 0})
                counts["blocked"] += 1
                if review is not None:
                    counts[f"{review.value}ed"] += 1
        rejected = sum(review is Review.REJECT for _, review in said)
        accepted = sum(review is Review.ACCEPT for _, review in said)
        n = rejected + accepted
        lo, hi = clopper_pearson(rejected, n)
        return {
            "blocked": len(said),
            "reviewed": n,
            "accepted": accepted,
            "rejected": rejected,
            "false_block_rate": {"est": rejected / n if n else None, "lo": lo, "hi": hi, "n": n},
            "by_rule": by_rule,
            "open": [
                {
                    "rollout": call.rollout,
                    "turn": call.turn,
                    "place": call.place,
                    "tool": call.call.name,
                    "rules": call.rules,
                }
                for call in self.open
            ],
        }


def _blocked(run: Path) -> Iterator[BlockedCall]:
    for rollout in read_rollouts(run):
        said = [m for turn in rollout.transcript.turns[:1] for m in turn.new_messages]
        asked = [text_of(m.get("content")) for m in said if m.get("role") == "user"]
        for turn in rollout.transcript.turns:
            for place, call in enumerate(turn.calls):
                held = call.decision in (Decision.BLOCK, Decision.UNJUDGEABLE)
                if held and call.findings:  # without one a broken rule held it: no verdict
                    yield BlockedCall(
                        rollout=file_name(rollout.task_id, rollout.attempt),
                        instruction=asked[-1] if asked else "",
                        session_id=rollout.session_id,
                        turn=turn.index,
                        place=place,
                        call=call,
                    )
