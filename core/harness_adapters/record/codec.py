"""Rollouts to and from the JSON records of the log. Token ids and logprobs go as base64 of
little-endian ``int32`` and ``float32``, which keeps a 40-turn session near 12 bytes a token."""

from __future__ import annotations

import base64
import sys
from array import array
from dataclasses import asdict
from typing import Any

from harness_adapters.gateway.transcript import Decision, JudgedCall, Transcript, Turn
from harness_adapters.types import (
    Ended,
    Finding,
    Flag,
    HarnessExit,
    Outcome,
    Provenance,
    RewardTerm,
    Rollout,
    Severity,
    Verdict,
)


def to_record(rollout: Rollout) -> dict[str, Any]:
    return {
        "task_id": rollout.task_id,
        "cluster": rollout.cluster,
        "kind": rollout.kind,
        "difficulty": rollout.difficulty,
        "attempt": rollout.attempt,
        "tries": rollout.tries,
        "session_id": rollout.session_id,
        "model": rollout.model,
        "outcome": rollout.outcome.value,
        "flags": sorted(rollout.flags),
        "reward": rollout.reward,
        "terms": [asdict(term) for term in rollout.terms],
        "verdict": asdict(rollout.verdict) if rollout.verdict else None,
        "calls": rollout.calls,
        "seconds": round(rollout.seconds, 3),
        "harness_version": rollout.harness_version,
        "exit": asdict(rollout.exit) if rollout.exit else None,
        "error": rollout.error,
        "components": [asdict(part) for part in rollout.components],
        "transcript": _transcript_record(rollout.transcript),
    }


def from_record(record: dict[str, Any]) -> Rollout:
    verdict, exit = record["verdict"], record["exit"]
    return Rollout(
        task_id=record["task_id"],
        cluster=record["cluster"],
        kind=record["kind"],
        difficulty=record["difficulty"],
        attempt=record["attempt"],
        tries=record["tries"],
        session_id=record["session_id"],
        model=record["model"],
        outcome=Outcome(record["outcome"]),
        flags=frozenset(Flag(flag) for flag in record["flags"]),
        reward=record["reward"],
        terms=[RewardTerm(**term) for term in record["terms"]],
        verdict=Verdict(**verdict) if verdict else None,
        calls=record["calls"],
        seconds=record["seconds"],
        transcript=_transcript(record["transcript"]),
        harness_version=record["harness_version"],
        exit=HarnessExit(**{**exit, "ended": Ended(exit["ended"])}) if exit else None,
        error=record["error"],
        components=[Provenance(**part) for part in record["components"]],
    )


def _transcript_record(transcript: Transcript) -> dict[str, Any]:
    return {
        "turns": [_turn_record(turn) for turn in transcript.turns],
        "tools": list(transcript.tools),
        "token_exact": transcript.token_exact,
        "flags": sorted(transcript.flags),
        "faults": list(transcript.faults),
        "guard_faults": list(transcript.guard_faults),
        "refused": transcript.refused,
    }


def _transcript(record: dict[str, Any]) -> Transcript:
    return Transcript(
        turns=tuple(_turn(turn) for turn in record["turns"]),
        tools=tuple(record["tools"]),
        token_exact=record["token_exact"],
        flags=frozenset(Flag(flag) for flag in record["flags"]),
        faults=tuple(record["faults"]),
        guard_faults=tuple(record["guard_faults"]),
        refused=record["refused"],
    )


def _turn_record(turn: Turn) -> dict[str, Any]:
    return {
        "index": turn.index,
        "parent": turn.parent,
        "model": turn.model,
        "auxiliary": turn.auxiliary,
        "finish": turn.finish,
        "delivered": turn.delivered,
        "started": turn.started,
        "seconds": round(turn.seconds, 4),
        "usage": turn.usage,
        "new_messages": list(turn.new_messages),
        "reply": turn.reply,
        "calls": [_call_record(call) for call in turn.calls],
        "new_prompt_ids": _pack(turn.new_prompt_ids),
        "sampled_ids": _pack(turn.sampled_ids),
        "logprobs": _pack(turn.logprobs),
    }


def _turn(record: dict[str, Any]) -> Turn:
    return Turn(
        **{
            **record,
            "calls": tuple(_call(call) for call in record["calls"]),
            "new_prompt_ids": _unpack("i", record["new_prompt_ids"]),
            "sampled_ids": _unpack("i", record["sampled_ids"]),
            "logprobs": _unpack("f", record["logprobs"]),
        }
    )


def _call_record(call: JudgedCall) -> dict[str, Any]:
    return {
        "id": call.id,
        "name": call.name,
        "arguments": call.arguments,
        "decision": call.decision.value,
        "findings": [asdict(finding) for finding in call.findings],
        "dropped": call.dropped,
        "faults": list(call.faults),
        "policy": call.policy,
    }


def _call(record: dict[str, Any]) -> JudgedCall:
    return JudgedCall(
        **{
            **record,
            "decision": Decision(record["decision"]),
            "findings": tuple(_finding(finding) for finding in record["findings"]),
            "faults": tuple(record["faults"]),
        }
    )


def _finding(record: dict[str, Any]) -> Finding:
    span = record["span"]
    return Finding(
        rule=record["rule"],
        severity=Severity(record["severity"]),
        message=record["message"],
        span=(span[0], span[1]) if span else None,
    )


def _pack(values: array[Any]) -> str:
    if sys.byteorder == "big":
        values = values[:]
        values.byteswap()
    return base64.b64encode(values.tobytes()).decode()


def _unpack(typecode: str, text: str) -> array[Any]:
    values = array(typecode)
    values.frombytes(base64.b64decode(text))
    if sys.byteorder == "big":
        values.byteswap()
    return values
