"""Codex's rollout log: response items in order, wrapped or (old layout) bare."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from harness_adapters.tasks.traces.builder import TraceBuilder
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

_ENVELOPES = ("session_meta", "response_item", "turn_context", "event_msg", "compacted")
_BARE = ("function_call", "function_call_output", "local_shell_call", "reasoning", "message")
_SYNTHETIC = re.compile(r"\s*(?:<[a-z_ ]+>|# AGENTS\.md)")
_CUT = re.compile(
    r"\u2026\d+ (?:tokens|chars|characters|lines) truncated\u2026|\[\.\.\. omitted \d+ of \d+ lines"
)


def recognises(found: Sequence[Record]) -> bool:
    return any(
        (one.get("type") in _ENVELOPES and isinstance(one.get("payload"), dict))
        or (
            one.get("type") in _BARE
            and "message" not in one
            and ("role" in one or "call_id" in one)
        )
        or "record_type" in one
        for one in found
    )


def read(found: Sequence[Record]) -> list[Trace]:
    meta = next(
        (record(one.get("payload")) for one in found if one.get("type") == "session_meta"), {}
    )
    if not meta and found and "type" not in found[0]:
        meta = found[0]  # old layout
    git = record(meta.get("git"))
    cwd, model = string(meta.get("cwd")), ""
    for one in found:
        if one.get("type") == "turn_context":
            context = record(one.get("payload"))
            cwd = cwd or string(context.get("cwd"))
            model = string(context.get("model")) or model
    items, abandoned = _active(found)
    builder = TraceBuilder()
    instructions = meta.get("base_instructions", meta.get("instructions"))
    builder.message("system", text_of(instructions))
    for item, time in items:
        _item(builder, item, time)
    return [
        Trace(
            format="codex",
            harness="codex",
            events=builder.events,
            session=string(meta.get("id")),
            parent=string(meta.get("forked_from_id")),
            model=model,
            version=string(meta.get("cli_version")),
            cwd=cwd,
            commit=string(git.get("commit_hash")),
            repository=string(git.get("repository_url")),
            abandoned=abandoned,
        )
    ]


def _active(found: Sequence[Record]) -> tuple[list[tuple[Record, float | None]], int]:
    """The items that were not rolled back, and how many were."""
    items: list[tuple[Record, float | None]] = []
    turns: list[int] = []  # where each of the person's turns starts
    abandoned = 0
    for one in found:
        time = seconds(one.get("timestamp"))
        payload = record(one.get("payload"))
        match one.get("type"):
            case "response_item":
                item = payload
            case "compacted":
                item = {"type": "compacted", "message": payload.get("message")}
            case "event_msg":
                if payload.get("type") == "thread_rolled_back":
                    count = payload.get("num_turns")
                    kept = (
                        len(turns) - count if isinstance(count, int) and count > 0 else len(turns)
                    )
                    cut = turns[max(kept, 0)] if max(kept, 0) < len(turns) else len(items)
                    abandoned += len(items) - cut
                    del items[cut:], turns[max(kept, 0) :]
                continue
            case _ if "payload" not in one:
                item = one
            case _:
                continue
        if _is_turn(item):
            turns.append(len(items))
        items.append((item, time))
    return items, abandoned


def _is_turn(item: Record) -> bool:
    return (
        item.get("type") == "message"
        and item.get("role") == "user"
        and not _SYNTHETIC.match(text_of(item.get("content")))
    )


def _item(builder: TraceBuilder, item: Record, time: float | None) -> None:
    id = string(item.get("call_id")) or string(item.get("id"))
    match item.get("type"):
        case "message":
            _message(builder, item, time)
        case "reasoning":
            parts = [*records(item.get("summary")), *records(item.get("content"))]
            builder.reasoning("\n".join(filter(None, map(text_of, parts))), time=time)
        case "function_call":
            builder.call(id, string(item.get("name")), item.get("arguments"), time=time)
        case "custom_tool_call":  # free text, which other dialects carry as one argument
            arguments = {"input": string(item.get("input"))}
            builder.call(id, string(item.get("name")), arguments, time=time)
        case "local_shell_call":
            builder.call(id, "local_shell", record(item.get("action")), time=time)
        case "tool_search_call":
            builder.call(id, "tool_search", item.get("arguments"), time=time)
        case "web_search_call":
            builder.call(id, "web_search", record(item.get("action")), time=time)
        case "function_call_output" | "custom_tool_call_output" | "local_shell_call_output":
            text, is_error = _output(item.get("output"))
            truncated = bool(_CUT.search(text))
            builder.result(id, text, is_error=is_error, truncated=truncated, time=time)
        case "tool_search_output":
            builder.result(id, as_text(item.get("tools")), time=time)
        case "compacted":
            builder.compaction(string(item.get("message")), time=time)
        case _:
            pass


def _message(builder: TraceBuilder, item: Record, time: float | None) -> None:
    text = text_of(item.get("content"))
    match item.get("role"):
        case "user":
            builder.message("user", text, synthetic=bool(_SYNTHETIC.match(text)), time=time)
        case "assistant":
            builder.message("assistant", text, time=time)
        case "system" | "developer":
            builder.message("system", text, time=time)
        case _:
            pass


def _output(output: Any) -> tuple[str, bool | None]:
    """Text and failure; an older shape is JSON in a string, with an exit code."""
    if isinstance(output, str) and output.startswith('{"output"'):
        try:
            output = json.loads(output)
        except (ValueError, RecursionError):
            return output, None
    if not isinstance(output, dict):
        return as_text(output), None
    code = record(output.get("metadata")).get("exit_code")
    success = output.get("success")
    is_error = code != 0 if isinstance(code, int) else not success if success is not None else None
    return as_text(output.get("output", output.get("content"))), is_error
