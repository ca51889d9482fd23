"""``opencode export``: one document of messages with parts; a call and its result are one part."""

from __future__ import annotations

from collections.abc import Sequence

from harness_adapters.tasks.traces.builder import TraceBuilder
from harness_adapters.tasks.traces.events import Trace
from harness_adapters.tasks.traces.fields import Record, record, records, seconds, string


def recognises(found: Sequence[Record]) -> bool:
    return any(
        any("parts" in message and "info" in message for message in records(one.get("messages")))
        for one in found
    )


def read(found: Sequence[Record]) -> list[Trace]:
    return [_trace(one) for one in found if recognises([one])]


def _trace(document: Record) -> Trace:
    info = record(document.get("info"))
    messages = records(document.get("messages"))
    active = _active(messages, string(record(info.get("revert")).get("messageID")))
    builder = TraceBuilder()
    cwd, model = string(info.get("directory")), ""
    for message in active:
        about = record(message.get("info"))
        model = string(about.get("modelID")) or model
        cwd = cwd or string(record(about.get("path")).get("cwd"))
        _message(builder, about, records(message.get("parts")))
    return Trace(
        format="opencode",
        harness="opencode",
        events=builder.events,
        session=string(info.get("id")),
        parent=string(info.get("parentID")),
        model=model,
        version=string(info.get("version")),
        cwd=cwd,
        abandoned=len(messages) - len(active),
    )


def _active(messages: list[Record], reverted: str) -> list[Record]:
    """Messages before the one that the person went back to."""
    for place, message in enumerate(messages):
        if reverted and record(message.get("info")).get("id") == reverted:
            return messages[:place]
    return messages


def _message(builder: TraceBuilder, about: Record, parts: list[Record]) -> None:
    by_user = about.get("role") == "user"
    time = seconds(record(about.get("time")).get("created"))
    for part in parts:
        match part.get("type"):
            case "text":
                text = string(part.get("text"))
                if not by_user and about.get("summary") is True:
                    builder.compaction(text, time=time)
                elif by_user:
                    synthetic = part.get("synthetic") is True
                    builder.message("user", text, synthetic=synthetic, time=time)
                else:
                    builder.message("assistant", text, time=time)
            case "subtask":
                builder.message("user", string(part.get("prompt")), synthetic=True, time=time)
            case "reasoning":
                builder.reasoning(string(part.get("text")), time=time)
            case "tool":
                _tool(builder, part)
            case _:
                pass


def _tool(builder: TraceBuilder, part: Record) -> None:
    state = record(part.get("state"))
    times = record(state.get("time"))
    # Ids repeat, but a part's own call is always the one that was opened last.
    own = f"{string(part.get('id'))} {string(part.get('callID'))}".strip()
    arguments = state.get("input") or state.get("raw")
    builder.call(own, string(part.get("tool")), arguments, time=seconds(times.get("start")))
    status = state.get("status")
    if status in ("completed", "error"):
        builder.result(
            own,
            string(state.get("output")) or string(state.get("error")),
            is_error=status == "error",
            truncated=record(state.get("metadata")).get("truncated") is True,
            details=state.get("metadata"),
            time=seconds(times.get("end")),
        )
