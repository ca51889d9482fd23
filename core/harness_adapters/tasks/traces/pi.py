"""pi's own session log: v1 is a list, v2 and v3 a tree whose last entry is where the session is.

The events that ``pi --mode json`` prints are read too.
"""

from __future__ import annotations

from collections.abc import Sequence

from harness_adapters.tasks.traces.builder import TraceBuilder
from harness_adapters.tasks.traces.events import Trace
from harness_adapters.tasks.traces.fields import (
    Record,
    flag,
    record,
    records,
    seconds,
    string,
    text_of,
)
from harness_adapters.tasks.traces.tree import Node, active_branch

_ROLES = ("user", "assistant", "toolResult", "system")


def recognises(found: Sequence[Record]) -> bool:
    return any(
        (one.get("type") == "session" and ("cwd" in one or "version" in one))
        or (one.get("type") == "message" and record(one.get("message")).get("role") in _ROLES)
        for one in found
    )


def read(found: Sequence[Record]) -> list[Trace]:
    header = next((one for one in found if one.get("type") == "session"), {})
    entries = [one for one in found if one.get("type") != "session"]
    if any("parentId" in one for one in entries):
        entries = [one for one in entries if isinstance(one.get("id"), str)]
        nodes = [Node(id=one["id"], parent=string(one.get("parentId")) or None) for one in entries]
        active = [entries[place] for place in active_branch(nodes)]
    else:
        active = entries
    session = _Session()
    for entry in active:
        session.entry(entry)
    version = header.get("version", 1)
    return [
        Trace(
            format="pi",
            harness="pi",
            events=session.builder.events,
            session=string(header.get("id")),
            parent=string(header.get("parentSession")) or string(header.get("branchedFrom")),
            model=session.model or string(header.get("modelId")),
            version=f"session v{version}" if isinstance(version, int) else "",
            cwd=string(header.get("cwd")),
            declared_tools=session.tools or None,
            abandoned=len(entries) - len(active),
        )
    ]


class _Session:
    def __init__(self) -> None:
        self.builder = TraceBuilder()
        self.model = ""
        self.tools: dict[str, Record] = {}

    def entry(self, entry: Record) -> None:
        time = seconds(entry.get("timestamp"))
        match entry.get("type"):
            case "message" | "message_end":  # the latter in what ``--mode json`` prints
                self._message(record(entry.get("message")), time)
            case "model_change":
                self.model = string(entry.get("modelId")) or self.model
            case "compaction":
                self.builder.compaction(string(entry.get("summary")), time=time)
            case "branch_summary":
                text = string(entry.get("summary"))
                self.builder.message("user", text, synthetic=True, time=time)
            case "custom_message":
                text = text_of(entry.get("content"))
                self.builder.message("user", text, synthetic=True, time=time)
            case _:
                pass

    def _message(self, message: Record, time: float | None) -> None:
        content = message.get("content")
        match message.get("role"):
            case "system":
                sections = record(message.get("sections")).values()
                text = "\n".join(filter(None, (text_of(content), *map(string, sections))))
                self.builder.message("system", text, time=time)
                for tool in records(message.get("toolsAdded")):
                    self.tools.setdefault(string(tool.get("name")), tool)
            case "user":
                self.builder.message("user", text_of(content), time=time)
            case "assistant":
                self.model = string(message.get("model")) or self.model
                self._assistant(content, time)
            case "toolResult":
                details = record(message.get("details"))
                self.builder.result(
                    string(message.get("toolCallId")),
                    text_of(content),
                    is_error=flag(message.get("isError")),
                    truncated=record(details.get("truncation")).get("truncated") is True,
                    details=message.get("details"),
                    time=time,
                )
            case "bashExecution":  # a command that the person ran: pi tells it to the model
                text = f"Ran {string(message.get('command'))}\n{string(message.get('output'))}"
                self.builder.message("user", text, synthetic=True, time=time)
            case "compactionSummary":
                self.builder.compaction(string(message.get("summary")), time=time)
            case "custom" | "hookMessage" | "branchSummary":
                text = text_of(content) or string(message.get("summary"))
                self.builder.message("user", text, synthetic=True, time=time)
            case _:
                pass

    def _assistant(self, content: object, time: float | None) -> None:
        if isinstance(content, str):
            self.builder.message("assistant", content, time=time)
        for part in records(content):
            match part.get("type"):
                case "text":
                    self.builder.message("assistant", string(part.get("text")), time=time)
                case "thinking":
                    self.builder.reasoning(string(part.get("thinking")), time=time)
                case "toolCall":
                    self.builder.call(
                        string(part.get("id")),
                        string(part.get("name")),
                        part.get("arguments"),
                        time=time,
                    )
                case _:
                    pass
