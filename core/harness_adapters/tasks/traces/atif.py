"""Trajectories in ATIF, ours and others': steps with calls and the observation that followed.

Some writers give no ``source_call_id``, or ids that start anew in every step, so ids count only
inside their step. Ours also keep the calls that the guard held back.
"""

from __future__ import annotations

from collections.abc import Sequence

from harness_adapters.tasks.traces.builder import TraceBuilder
from harness_adapters.tasks.traces.chat import declared
from harness_adapters.tasks.traces.events import Trace
from harness_adapters.tasks.traces.fields import (
    Record,
    as_text,
    record,
    records,
    seconds,
    string,
    text_of,
)


def recognises(found: Sequence[Record]) -> bool:
    return any(
        string(one.get("schema_version")).startswith("ATIF")
        or any("step_id" in step and "source" in step for step in records(one.get("steps")))
        for one in found
    )


def read(found: Sequence[Record]) -> list[Trace]:
    return [_trace(one) for one in found if recognises([one])]


def _trace(document: Record) -> Trace:
    agent = record(document.get("agent"))
    steps = records(document.get("steps"))
    own = [step for step in steps if step.get("is_copied_context") is not True]
    builder = TraceBuilder()
    for number, step in enumerate(own):
        _step(builder, step, number)
    return Trace(
        format="atif",
        harness=string(agent.get("name")),
        events=builder.events,
        session=string(document.get("session_id")),
        model=string(agent.get("model_name")),
        version=string(agent.get("version")),
        cwd=string(record(agent.get("extra")).get("cwd")),
        declared_tools=declared(agent.get("tool_definitions")),
        subagents=tuple(map(_trace, records(document.get("subagent_trajectories")))),
        abandoned=len(steps) - len(own),
    )


def _step(builder: TraceBuilder, step: Record, number: int) -> None:
    time = seconds(step.get("timestamp"))
    text = text_of(step.get("message"))
    match step.get("source"):
        case "system":
            builder.message("system", text, time=time)
        case "user":
            builder.message("user", text, time=time)
        case _:
            builder.reasoning(string(step.get("reasoning_content")), time=time)
            builder.message("assistant", text, time=time)
    waiting: list[str] = []
    for order, call in enumerate(records(step.get("tool_calls"))):
        waiting.append(string(call.get("tool_call_id")))
        raw = record(call.get("extra")).get("raw_arguments")
        arguments = raw if isinstance(raw, str) else call.get("arguments")
        name = string(call.get("function_name"))
        builder.call(f"{number}.{order}", name, arguments, time=time)
    for call in records(record(step.get("extra")).get("held_calls")):
        builder.call(
            string(call.get("tool_call_id")),
            string(call.get("function_name")),
            call.get("arguments"),
            held=True,
            time=time,
        )
    left = list(range(len(waiting)))
    for result in records(record(step.get("observation")).get("results")):
        source = string(result.get("source_call_id"))
        place: int | None = next((p for p in left if source and waiting[p] == source), None)
        if place is None and left and not source:
            place = left[0]
        if place is not None:
            left.remove(place)
        builder.result(
            f"{number}.{place}" if place is not None else f"{number}.?",
            as_text(result.get("content")),
            details=result.get("extra"),
            time=time,
        )
