"""SWE-agent's ``.traj``: chat messages under ``history``; older ones have ``trajectory`` only."""

from __future__ import annotations

from collections.abc import Sequence

from harness_adapters.tasks.traces.builder import TraceBuilder
from harness_adapters.tasks.traces.chat import add_messages
from harness_adapters.tasks.traces.events import Trace
from harness_adapters.tasks.traces.fields import Record, record, records, string


def recognises(found: Sequence[Record]) -> bool:
    return any(
        any("action" in step and "observation" in step for step in records(one.get("trajectory")))
        or any("message_type" in message for message in records(one.get("history")))
        for one in found
    )


def read(found: Sequence[Record]) -> list[Trace]:
    return [_trace(one) for one in found if recognises([one])]


def _trace(document: Record) -> Trace:
    config = record(document.get("replay_config"))
    repo = record(record(config.get("env")).get("repo"))
    steps = records(document.get("trajectory"))
    folders = (string(record(step.get("state")).get("working_dir")) for step in steps)
    builder = TraceBuilder()
    history = [one for one in records(document.get("history")) if one.get("is_demo") is not True]
    if any(records(one.get("tool_calls")) for one in history):
        add_messages(builder, history)
    else:
        _shell_steps(builder, history, steps)
    return Trace(
        format="swe-agent",
        harness="swe-agent",
        events=builder.events,
        session=string(document.get("environment")),
        cwd=next(filter(None, folders), ""),
        commit=string(repo.get("base_commit")),
        repository=string(repo.get("repo_name")),
    )


def _shell_steps(builder: TraceBuilder, history: list[Record], steps: list[Record]) -> None:
    """Sessions without tool calling: every action is a line for the shell."""
    first_action = next(
        (i for i, one in enumerate(history) if one.get("role") == "assistant"), len(history)
    )
    add_messages(builder, history[:first_action])
    for step in steps:
        builder.message("assistant", string(step.get("thought")) or string(step.get("response")))
        if action := string(step.get("action")):
            builder.call("", "bash", {"command": action})
            builder.result("", string(step.get("observation")))
