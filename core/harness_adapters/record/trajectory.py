"""A rollout as an ATIF 1.8 trajectory, validated by the ``atif`` package's own models.

One agent step per turn, with the tool results that came back as its observation. A call whose
arguments are no JSON object has ``arguments = {}`` and its raw text in ``extra``. Auxiliary turns
are left out; they are in the log.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import atif
import orjson

from harness_adapters.gateway.transcript import JudgedCall, Turn
from harness_adapters.types import Rollout

SCHEMA = "ATIF-v1.8"


def to_json(rollout: Rollout, *, harness: str) -> bytes:
    """The trajectory as JSON text. Lone surrogates, which a model can write as an escape and JSON
    text cannot hold, become U+FFFD."""
    text = to_atif(rollout, harness=harness).model_dump(mode="python", exclude_none=True)
    return orjson.dumps(_encodable(text), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def to_atif(rollout: Rollout, *, harness: str) -> atif.Trajectory:
    """:raises pydantic.ValidationError: what was captured is no valid trajectory."""
    turns = [turn for turn in rollout.transcript.turns if not turn.auxiliary]
    results = _results(turns)
    steps: list[atif.Step] = []
    for turn in turns:
        steps += _prompt_steps(turn.new_messages, len(steps))
        steps.append(_agent_step(turn, len(steps) + 1, results[turn.index]))
    return atif.Trajectory(
        schema_version=SCHEMA,
        session_id=rollout.session_id,
        agent=atif.Agent(
            name=harness,
            version=rollout.harness_version or "unknown",
            model_name=rollout.model,
            tool_definitions=[dict(tool) for tool in rollout.transcript.tools] or None,
        ),
        steps=steps,
        final_metrics=atif.FinalMetrics(
            total_prompt_tokens=sum(turn.usage.get("prompt_tokens", 0) for turn in turns),
            total_completion_tokens=sum(turn.usage.get("completion_tokens", 0) for turn in turns),
            total_steps=len(steps),
        ),
        extra={
            "task_id": rollout.task_id,
            "attempt": rollout.attempt,
            "outcome": rollout.outcome.value,
            "reward": rollout.reward,
            "flags": sorted(rollout.flags),
            "calls": rollout.calls,
        },
    )


def _prompt_steps(messages: Sequence[Mapping[str, Any]], before: int) -> list[atif.Step]:
    """System and user messages; tool results are observations of the step that asked for them."""
    return [
        atif.Step(
            step_id=before + number,
            source="user" if message["role"] == "user" else "system",
            message=text_of(message.get("content")),
        )
        for number, message in enumerate(
            (one for one in messages if one.get("role") in ("system", "developer", "user")), 1
        )
    ]


def _results(turns: Sequence[Turn]) -> dict[int, dict[str, str]]:
    """What came back, by turn and call id. An engine may use an id again in a later turn, so a
    result belongs to the last turn before it that asked with its id."""
    results: dict[int, dict[str, str]] = {turn.index: {} for turn in turns}
    asked: dict[str, int] = {}
    for turn in turns:
        for message in turn.new_messages:
            call_id = message.get("tool_call_id")
            if message.get("role") == "tool" and isinstance(call_id, str) and call_id in asked:
                results[asked.pop(call_id)][call_id] = text_of(message.get("content"))
        asked.update({call.id: turn.index for call in turn.calls if call.executed})
    return results


def _agent_step(turn: Turn, step_id: int, results: Mapping[str, str]) -> atif.Step:
    executed = [call for call in turn.calls if call.executed]
    held = [call for call in turn.calls if not call.executed]
    observed = [
        atif.ObservationResult(source_call_id=call.id, content=results[call.id])
        for call in executed
        if call.id in results
    ]
    return atif.Step(
        step_id=step_id,
        timestamp=datetime.fromtimestamp(turn.started, UTC).isoformat() if turn.started else None,
        source="agent",
        model_name=turn.model or None,
        message=text_of(turn.reply.get("content")),
        reasoning_content=turn.reply.get("reasoning_content") or None,
        tool_calls=[_call(call) for call in executed] or None,
        observation=atif.Observation(results=observed) if observed else None,
        metrics=atif.Metrics(
            prompt_tokens=turn.usage.get("prompt_tokens"),
            completion_tokens=turn.usage.get("completion_tokens"),
            completion_token_ids=list(turn.sampled_ids) or None,
            logprobs=list(turn.logprobs) or None,
        ),
        extra={"held_calls": [_held(call) for call in held]} if held else None,
        llm_call_count=1,
    )


def _call(call: JudgedCall) -> atif.ToolCall:
    whole = isinstance(call.arguments, dict)
    return atif.ToolCall(
        tool_call_id=call.id,
        function_name=call.name,
        arguments=call.arguments if isinstance(call.arguments, dict) else {},
        extra=None if whole else {"raw_arguments": call.arguments},
    )


def _held(call: JudgedCall) -> dict[str, Any]:
    return {
        "tool_call_id": call.id,
        "function_name": call.name,
        "arguments": call.arguments,
        "decision": call.decision.value,
        "dropped": call.dropped,
        "rules": [finding.rule for finding in call.findings],
    }


def text_of(content: Any) -> str:
    """The text of a chat message's content, which is a string, a list of parts, or nothing."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        texts = (part.get("text") for part in content if isinstance(part, Mapping))
        return "".join(text for text in texts if isinstance(text, str))
    return ""


def _encodable(value: Any) -> Any:
    """The same value with only what ``orjson`` can write; huge integers become strings."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode() if _has_surrogate(value) else value
    if isinstance(value, dict):
        return {_encodable(key): _encodable(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_encodable(item) for item in value]
    if isinstance(value, int) and not -(2**63) <= value < 2**64:
        return str(value)
    return value


def _has_surrogate(text: str) -> bool:
    return not text.isascii() and any("\ud800" <= char <= "\udfff" for char in text)
