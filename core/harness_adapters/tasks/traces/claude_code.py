"""Claude Code's session log: a tree in which one message is spread over several lines.

Parallel calls branch: each call's line follows the line before it, and each result hangs on its
own call, so the way from the last line to the root misses all results but one. They are brought
back by message and call id. Sub-agents stand in files of their own, in side chains, or inside
``progress`` lines.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from harness_adapters.tasks.traces.builder import TraceBuilder
from harness_adapters.tasks.traces.events import Trace
from harness_adapters.tasks.traces.fields import (
    Record,
    as_text,
    flag,
    record,
    records,
    seconds,
    string,
    text_of,
)
from harness_adapters.tasks.traces.tree import Node, active_branch

_TURNS = ("user", "assistant")


def recognises(found: Sequence[Record]) -> bool:
    return any(
        one.get("type") in _TURNS
        and isinstance(one.get("message"), dict)
        and ("uuid" in one or "sessionId" in one)
        for one in found
    )


def read(found: Sequence[Record]) -> list[Trace]:
    chain = [one for one in found if isinstance(one.get("uuid"), str)]
    main = [one for one in chain if one.get("isSidechain") is not True]
    if not any(one.get("type") in _TURNS for one in main):
        return [_trace(chain, ())]  # the log of one sub-agent
    side = [one for one in chain if one.get("isSidechain") is True]
    subagents = [_trace(lines, ()) for lines in (*_side_chains(side), *_in_progress(main))]
    return [_trace(main, subagents)]


def _trace(lines: Sequence[Record], subagents: Sequence[Trace]) -> Trace:
    active = _active(lines)
    session = _Session()
    for line in active:
        session.line(line)
    said = [one for one in active if "cwd" in one or "sessionId" in one]
    first: Record = said[0] if said else {}
    agent = string(first.get("agentId"))
    return Trace(
        format="claude-code",
        harness="claude-code",
        events=session.builder.events,
        session=agent or string(first.get("sessionId")),
        parent=string(first.get("sessionId")) if agent else "",
        model=session.model,
        version=string(first.get("version")),
        cwd=string(first.get("cwd")),
        subagents=tuple(subagents),
        abandoned=sum(one.get("type") in _TURNS for one in lines)
        - sum(one.get("type") in _TURNS for one in active),
    )


# --- which lines count --------------------------------------------------------------------------


def _active(lines: Sequence[Record]) -> list[Record]:
    nodes = [Node(id=one["uuid"], parent=_parent(one)) for one in lines]
    while nodes and lines[len(nodes) - 1].get("type") not in _TURNS:
        nodes.pop()  # what hooks and notices write last hangs anywhere
    places = set(active_branch(nodes))
    messages = {_message_id(lines[place]) for place in places} - {""}
    places |= {place for place, one in enumerate(lines) if _message_id(one) in messages}
    calls = {id for place in places for id in _call_ids(lines[place])}
    places |= {place for place, one in enumerate(lines) if not calls.isdisjoint(_answers(one))}
    return [lines[place] for place in sorted(places)]


def _parent(line: Record) -> str | None:
    """A compaction starts a new root and names what came before as its logical parent."""
    return string(line.get("parentUuid")) or string(line.get("logicalParentUuid")) or None


def _message_id(line: Record) -> str:
    if line.get("type") != "assistant":
        return ""
    return string(record(line.get("message")).get("id"))


def _parts(line: Record) -> list[Record]:
    return records(record(line.get("message")).get("content"))


def _call_ids(line: Record) -> list[str]:
    return [string(one.get("id")) for one in _parts(line) if one.get("type") == "tool_use"]


def _answers(line: Record) -> list[str]:
    return [
        string(one.get("tool_use_id")) for one in _parts(line) if one.get("type") == "tool_result"
    ]


# --- sub-agents ---------------------------------------------------------------------------------


def _side_chains(lines: Sequence[Record]) -> list[list[Record]]:
    """Side chains of one file, each from its own root."""
    group_of: dict[str, str] = {}
    groups: dict[str, list[Record]] = {}
    for line in lines:
        agent, parent = string(line.get("agentId")), string(line.get("parentUuid"))
        group = agent or group_of.get(parent) or line["uuid"]
        group_of[line["uuid"]] = group
        groups.setdefault(group, []).append(line)
    return list(groups.values())


def _in_progress(lines: Sequence[Record]) -> list[list[Record]]:
    """What sub-agents said, as far as ``progress`` lines repeat it."""
    groups: dict[str, list[Record]] = {}
    for line in lines:
        data = record(line.get("data"))
        inner, agent = record(data.get("message")), string(data.get("agentId"))
        if data.get("type") == "agent_progress" and agent and inner.get("type") in _TURNS:
            group = groups.setdefault(agent, [])
            own = {
                "uuid": string(inner.get("uuid")) or f"{agent}.{len(group)}",
                "parentUuid": group[-1]["uuid"] if group else None,
                "agentId": agent,
                "sessionId": line.get("sessionId"),
                "cwd": line.get("cwd"),
                "version": line.get("version"),
            }
            group.append({**inner, **own})
    return list(groups.values())


# --- what they say ------------------------------------------------------------------------------


class _Session:
    def __init__(self) -> None:
        self.builder = TraceBuilder()
        self.model = ""

    def line(self, line: Record) -> None:
        time = seconds(line.get("timestamp"))
        content = record(line.get("message")).get("content")
        match line.get("type"):
            case "user":
                if line.get("isCompactSummary") is True:
                    self.builder.compaction(text_of(content), time=time)
                else:
                    self._user(content, line, time)
            case "assistant":
                model = string(record(line.get("message")).get("model"))
                if not model.startswith("<"):  # ``<synthetic>``: the harness's own words
                    self.model = model or self.model
                self._assistant(content, time)
            case "system" if line.get("subtype") == "compact_boundary":
                self.builder.compaction(time=time)
            case _:
                pass

    def _user(self, content: Any, line: Record, time: float | None) -> None:
        synthetic = line.get("isMeta") is True
        if isinstance(content, str):
            self.builder.message("user", content, synthetic=synthetic, time=time)
            return
        for part in records(content):
            if part.get("type") == "tool_result":
                details = line.get("toolUseResult")
                self.builder.result(
                    string(part.get("tool_use_id")),
                    as_text(part.get("content")),
                    is_error=flag(part.get("is_error")),
                    truncated=_is_truncated(details),
                    details=details,
                    time=time,
                )
            else:
                text = string(part.get("text"))
                self.builder.message("user", text, synthetic=synthetic, time=time)

    def _assistant(self, content: Any, time: float | None) -> None:
        if isinstance(content, str):
            self.builder.message("assistant", content, time=time)
        for part in records(content):
            match part.get("type"):
                case "text":
                    self.builder.message("assistant", string(part.get("text")), time=time)
                case "thinking":
                    self.builder.reasoning(string(part.get("thinking")), time=time)
                case "tool_use":
                    self.builder.call(
                        string(part.get("id")),
                        string(part.get("name")),
                        part.get("input"),
                        time=time,
                    )
                case _:
                    pass


def _is_truncated(details: Any) -> bool:
    """A read says how many lines of how many it gave, a search whether it left some out."""
    if not isinstance(details, Mapping):
        return False
    file = record(details.get("file"))
    shown, total = file.get("numLines"), file.get("totalLines")
    if isinstance(shown, int) and isinstance(total, int) and shown < total:
        return True
    return details.get("truncated") is True
