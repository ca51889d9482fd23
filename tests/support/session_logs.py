"""Small session logs in the shapes that harnesses write, made up for the tests."""

from __future__ import annotations

import json
from typing import Any

Record = dict[str, Any]


def lines(records: list[Record]) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


def _pi_entry(id: str, parent: str | None, message: Record) -> Record:
    return {"type": "message", "id": id, "parentId": parent, "message": message}


def _pi_say(text: str) -> Record:
    return {"role": "user", "content": [{"type": "text", "text": text}]}


def _pi_call(id: str, command: str) -> Record:
    call = {"type": "toolCall", "id": id, "name": "bash", "arguments": {"command": command}}
    return {"role": "assistant", "model": "m", "content": [{"type": "text", "text": "ok"}, call]}


def _pi_result(id: str, text: str) -> Record:
    content = [{"type": "text", "text": text}]
    return {"role": "toolResult", "toolCallId": id, "content": content, "isError": False}


def pi_v1() -> list[Record]:
    return [
        {"type": "session", "id": "s", "cwd": "/home/dev/app", "modelId": "m"},
        {"type": "message", "message": _pi_say("list files")},
        {"type": "thinking_level_change", "thinkingLevel": "low"},
        {"type": "message", "message": _pi_call("c1", "ls")},
        {"type": "message", "message": _pi_result("c1", "a.py")},
        {"type": "message", "message": {"role": "assistant", "content": []}},
    ]


def pi_v3() -> list[Record]:
    """A branch is left after ``c2``; the session goes on from ``c1``'s result."""
    tools = [{"name": "bash", "parameters": {}}]
    system = {"role": "system", "content": "You code.", "toolsAdded": tools}
    shell = {"role": "bashExecution", "command": "pwd", "output": "/home/dev/app"}
    return [
        {"type": "session", "version": 3, "id": "s", "cwd": "/home/dev/app"},
        _pi_entry("a", None, system),
        _pi_entry("b", "a", _pi_say("list files")),
        _pi_entry("c", "b", _pi_call("c1", "ls")),
        _pi_entry("d", "c", _pi_result("c1", "a.py")),
        _pi_entry("e", "d", _pi_call("c2", "cat a.py")),
        _pi_entry("f", "e", _pi_result("c2", "x = 1")),
        {"type": "branch_summary", "id": "g", "parentId": "d", "summary": "read a.py"},
        {"type": "compaction", "id": "h", "parentId": "g", "summary": "listed files"},
        _pi_entry("i", "h", shell),
        _pi_entry("j", "i", _pi_call("c3", "wc a.py")),
    ]


def _claude(uuid: str, parent: str | None, type: str, message: Record, **more: Any) -> Record:
    return {
        "uuid": uuid,
        "parentUuid": parent,
        "type": type,
        "message": message,
        "sessionId": "s",
        "cwd": "/home/dev/app",
        "version": "2.1",
        "isSidechain": False,
        **more,
    }


def _claude_use(id: str, name: str, **input: Any) -> Record:
    part = {"type": "tool_use", "id": id, "name": name, "input": input}
    return {"id": "msg1", "role": "assistant", "model": "m", "content": [part]}


def _claude_result(id: str, text: str, **more: Any) -> Record:
    part = {"type": "tool_result", "tool_use_id": id, "content": text, **more}
    return {"role": "user", "content": [part]}


def claude_code() -> list[Record]:
    """Two parallel calls of one message, a rejected first try, a compaction, a sub-agent."""
    file = {"file": {"filePath": "/home/dev/app/a.py", "numLines": 3, "totalLines": 9}}
    inner = {
        "type": "assistant",
        "uuid": "i1",
        "message": {"role": "assistant", "content": [{"type": "text", "text": "from inside"}]},
    }
    progress = {"type": "agent_progress", "agentId": "ag1", "message": inner}
    return [
        {"type": "file-history-snapshot", "messageId": "x"},
        _claude("a", None, "user", {"role": "user", "content": "fix a.py"}),
        _claude("a2", "a", "user", {"role": "user", "content": "left behind"}),
        _claude("b", "a", "assistant", _claude_use("t1", "Read", file_path="/home/dev/app/a.py")),
        _claude("c", "b", "assistant", _claude_use("t2", "Bash", command="ls")),
        _claude("d", "b", "user", _claude_result("t1", "x = 1"), toolUseResult=file),
        _claude("e", "c", "user", _claude_result("t2", "a.py", is_error=False)),
        {"type": "progress", "uuid": "p", "parentUuid": "e", "sessionId": "s", "data": progress},
        {
            "type": "system",
            "subtype": "compact_boundary",
            "uuid": "f",
            "parentUuid": None,
            "logicalParentUuid": "p",
        },
        _claude("g", "f", "user", {"role": "user", "content": "so far"}, isCompactSummary=True),
        _claude("h", "g", "assistant", {"id": "m2", "role": "assistant", "content": "done"}),
        {"type": "summary", "summary": "fixed"},
    ]


def _codex(kind: str, /, **payload: Any) -> Record:
    return {"timestamp": "2026-01-01T00:00:00Z", "type": kind, "payload": payload}


def _codex_say(role: str, text: str) -> Record:
    return _codex("response_item", type="message", role=role, content=[{"text": text}])


def codex() -> list[Record]:
    """The second of the person's turns is rolled back."""
    patch = "*** Begin Patch\n*** Add File: b.py\n+x = 1\n*** End Patch"
    return [
        _codex("session_meta", id="s", cwd="/home/dev/app", git={"commit_hash": "abc"}),
        _codex("turn_context", model="m"),
        _codex_say("user", "<environment_context>\n</environment_context>"),
        _codex_say("user", "list files"),
        _codex("event_msg", type="user_message", message="list files"),
        _codex(
            "response_item",
            type="function_call",
            call_id="c1",
            name="exec_command",
            arguments='{"cmd": "ls"}',
        ),
        _codex(
            "response_item",
            type="function_call_output",
            call_id="c1",
            output="a.py\n\u20269 tokens truncated\u2026",
        ),
        _codex_say("user", "delete them"),
        _codex("response_item", type="function_call", call_id="c2", name="rm", arguments="{}"),
        _codex("event_msg", type="thread_rolled_back", num_turns=1),
        _codex("compacted", message="listed files"),
        _codex(
            "response_item", type="custom_tool_call", call_id="c3", name="apply_patch", input=patch
        ),
    ]


def codex_bare() -> list[Record]:
    """The layout before envelopes."""
    output = json.dumps({"output": "no such file", "metadata": {"exit_code": 2}})
    return [
        {"id": "s", "timestamp": "2025-05-01T00:00:00Z", "instructions": None},
        {"record_type": "state"},
        {"type": "message", "role": "user", "content": [{"text": "list files"}]},
        {
            "type": "local_shell_call",
            "call_id": "c1",
            "action": {"type": "exec", "command": ["ls", "x"]},
        },
        {"type": "function_call_output", "call_id": "c1", "output": output},
    ]


def _opencode_tool(part: str, id: str, command: str, **state: Any) -> Record:
    full = {"status": "completed", "input": {"command": command}, **state}
    return {"type": "tool", "id": part, "callID": id, "tool": "bash", "state": full}


def opencode() -> Record:
    """Two calls share an id; what came after ``m3`` was reverted."""
    parts = [
        {"type": "step-start"},
        {"type": "reasoning", "text": "hm"},
        _opencode_tool("p1", "same", "ls", output="a.py", metadata={"truncated": True}),
        _opencode_tool("p2", "same", "cat b", status="error", error="no such file"),
        _opencode_tool("p3", "same", "sleep 9", status="running"),
    ]
    said = [{"type": "text", "text": "go on", "synthetic": True}]
    return {
        "info": {"id": "s", "directory": "/home/dev/app", "revert": {"messageID": "m3"}},
        "messages": [
            {
                "info": {"id": "m1", "role": "user"},
                "parts": [{"type": "text", "text": "list files"}, *said],
            },
            {"info": {"id": "m2", "role": "assistant", "modelID": "m"}, "parts": parts},
            {"info": {"id": "m3", "role": "user"}, "parts": said},
        ],
    }


def hermes() -> Record:
    def message(id: str, role: str, state: str, **more: Any) -> Record:
        return {"message_id": id, "role": role, "state": state, **more}

    call = {"action_id": "c1", "tool_name": "terminal", "arguments_json": '{"command": "ls"}'}
    result = {"action_id": "c1", "is_error": False, "output_preview": "a.py"}
    return {
        "producer": "hermes/0.9.0",
        "session_id": "s",
        "repository_cwd": "/home/dev/app",
        "messages": [
            message("0", "user", "compacted", text="list files"),
            message("1", "assistant", "compacted", text="ok", tool_calls=[call]),
            message("2", "tool", "compacted", tool_results=[result]),
            message("3", "assistant", "rewound", text="wrong"),
            message("4", "assistant", "active", text="done"),
        ],
    }


def hermes_rows() -> Record:
    """``hermes sessions export``: rows of its database."""

    def row(role: str, active: int = 1, **more: Any) -> Record:
        return {"session_id": "s", "role": role, "tool_name": None, "active": active, **more}

    function = {"name": "terminal", "arguments": '{"command": "ls"}'}
    return {
        "id": "s",
        "source": "cli",
        "model": "m",
        "system_prompt": "You help.",
        "messages": [
            row("user", content="list files"),
            row("assistant", content=None, tool_calls=[{"id": "c1", "function": function}]),
            row("tool", content="a.py", tool_call_id="c1"),
            row("assistant", active=0, content="rewound"),
        ],
    }


def chat() -> Record:
    function = {"name": "bash", "arguments": '{"command": "ls"}'}
    return {
        "messages": [
            {"role": "system", "content": "You code."},
            {"role": "user", "content": [{"type": "text", "text": "list files"}]},
            {
                "role": "assistant",
                "content": "",
                "tool_calls": [{"id": "c1", "function": function}],
            },
            {"role": "tool", "tool_call_id": "c1", "content": "a.py"},
        ],
        "tools": [{"type": "function", "function": {"name": "bash", "parameters": {}}}],
    }


def atif() -> Record:
    """Ids that start anew in every step, no source ids in the second, a held call."""
    held = {"tool_call_id": "h", "function_name": "bash", "arguments": {"command": "cat /tests/x"}}

    def step(id: int, calls: list[Record], results: list[Record], **more: Any) -> Record:
        return {
            "step_id": id,
            "source": "agent",
            "message": "",
            "tool_calls": calls,
            "observation": {"results": results},
            **more,
        }

    def call(id: str, command: str) -> Record:
        return {"tool_call_id": id, "function_name": "bash", "arguments": {"command": command}}

    return {
        "schema_version": "ATIF-v1.7",
        "session_id": "s",
        "agent": {"name": "mini", "version": "1", "model_name": "m"},
        "steps": [
            {"step_id": 1, "source": "user", "message": "list files"},
            step(
                2,
                [call("1", "ls"), call("2", "pwd")],
                [
                    {"source_call_id": "2", "content": "/work"},
                    {"source_call_id": "1", "content": "a.py"},
                ],
            ),
            step(3, [call("1", "cat a.py")], [{"content": "x = 1"}], extra={"held_calls": [held]}),
        ],
    }


def swe_agent() -> Record:
    function = {"name": "bash", "arguments": '{"command": "ls"}'}
    return {
        "environment": "main",
        "trajectory": [
            {"action": "ls", "observation": "a.py", "state": {"working_dir": "/testbed"}}
        ],
        "history": [
            {"role": "system", "content": "You code.", "message_type": "system_prompt"},
            {"role": "user", "content": "fix it", "message_type": "observation"},
            {
                "role": "assistant",
                "content": "ok",
                "tool_calls": [{"id": "c1", "function": function}],
            },
            {"role": "tool", "content": "a.py", "tool_call_ids": ["c1"]},
        ],
    }


def swe_agent_plain() -> Record:
    """A session of before tool calling."""
    return {
        "trajectory": [{"thought": "look", "action": "ls", "observation": "a.py"}],
        "history": [{"role": "system", "content": "You code.", "message_type": "system_prompt"}],
    }


LOGS: dict[str, tuple[str, str]] = {
    "pi_v1": ("pi", lines(pi_v1())),
    "pi_v3": ("pi", lines(pi_v3())),
    "claude_code": ("claude-code", lines(claude_code())),
    "codex": ("codex", lines(codex())),
    "codex_bare": ("codex", lines(codex_bare())),
    "opencode": ("opencode", json.dumps(opencode(), indent=1)),
    "hermes": ("hermes", json.dumps(hermes(), indent=1)),
    "hermes_rows": ("hermes", lines([hermes_rows(), hermes_rows()])),
    "chat": ("chat", lines([chat()])),
    "atif": ("atif", json.dumps(atif())),
    "swe_agent": ("swe-agent", json.dumps(swe_agent())),
    "swe_agent_plain": ("swe-agent", json.dumps(swe_agent_plain())),
}
"""name -> (the reader's name, the file's text)."""
