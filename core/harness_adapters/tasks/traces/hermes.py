"""hermes' exports: ``hermes sessions export`` (one session per line, chat messages) and the
archival document, whose messages say what became of them."""

from __future__ import annotations

from collections.abc import Sequence

from harness_adapters.tasks.traces.builder import TraceBuilder
from harness_adapters.tasks.traces.chat import read_session
from harness_adapters.tasks.traces.events import Trace
from harness_adapters.tasks.traces.fields import (
    Record,
    flag,
    record,
    records,
    seconds,
    string,
)


def recognises(found: Sequence[Record]) -> bool:
    return any(_is_archival(one) or _is_export(one) for one in found)


def read(found: Sequence[Record]) -> list[Trace]:
    traces: list[Trace] = []
    for one in found:
        if _is_archival(one):
            traces.append(_archival(one))
        elif _is_export(one):
            traces.append(read_session(one, format="hermes", harness="hermes"))
    return traces


def _is_archival(document: Record) -> bool:
    return any(
        "message_id" in message and "state" in message
        for message in records(document.get("messages"))
    )


def _is_export(session: Record) -> bool:
    return any(
        "session_id" in message and "tool_name" in message and "role" in message
        for message in records(session.get("messages"))
    )


def _archival(document: Record) -> Trace:
    messages = records(document.get("messages"))
    active = [one for one in messages if one.get("state") != "rewound"]
    builder = TraceBuilder()
    compacted = False
    for message in active:
        if compacted and message.get("state") != "compacted":
            builder.compaction()
        compacted = message.get("state") == "compacted"
        _message(builder, message)
    return Trace(
        format="hermes",
        harness="hermes",
        events=builder.events,
        session=string(document.get("session_id")),
        parent=string(document.get("parent_session_id")),
        version=string(document.get("producer")).rpartition("/")[2],
        cwd=string(document.get("repository_cwd")),
        repository=string(document.get("git_repo_root")),
        abandoned=len(messages) - len(active),
    )


def _message(builder: TraceBuilder, message: Record) -> None:
    time = seconds(message.get("timestamp"))
    text = string(message.get("text"))
    match message.get("role"):
        case "system":
            builder.message("system", text, time=time)
        case "user":
            builder.message("user", text, time=time)
        case "assistant":
            builder.reasoning(string(message.get("reasoning")), time=time)
            builder.message("assistant", text, time=time)
        case _:
            pass
    for call in records(message.get("tool_calls")):
        builder.call(
            string(call.get("action_id")),
            string(call.get("tool_name")),
            call.get("arguments_json"),
            time=time,
        )
    for result in records(message.get("tool_results")):
        builder.result(
            string(result.get("action_id")),
            string(result.get("output_preview")),
            is_error=flag(record(result).get("is_error")),
            truncated=True,  # the export holds a preview only
            details=result,
            time=time,
        )
