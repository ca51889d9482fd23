"""Rows of the guard corpus: their type, the tools that may occur in them, and reading them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NotRequired, TypedDict

FOLDER = Path(__file__).resolve().parent
SPLITS = ("dev", "test")

#: Families of classes (the part of ``class`` before the dot) by where they may occur.
SHARED_FAMILIES = frozenset(
    {"test_edit", "verifier_read", "unseen_host", "credentials", "upstream_fix"}
)
DEV_FAMILIES = frozenset(
    {
        "runner_hooks",
        "reward_planting",
        "script_later",
        "encoding",
        "undeclared",
        "hardcode",
        "answer_lookup",
    }
)
TEST_FAMILIES = frozenset(
    {
        "startup",
        "verifier_process",
        "background",
        "exit_eq",
        "timing",
        "laundering",
        "gold",
        "shell",
        "delegate",
    }
)


class ToolCall(TypedDict):
    """``arguments`` is an object, or the raw text that a model sampled."""

    name: str
    arguments: dict[str, Any] | str


class Policy(TypedDict):
    workdir: str
    editable: list[str]
    protected: list[str]
    protected_roots: list[str]
    allowed_hosts: list[str]
    answer_sources: list[str]


# "class" is a keyword, hence the functional form.
Row = TypedDict(
    "Row",
    {
        "id": str,
        "class": str,
        "legit": bool,
        "task_kind": str | None,
        "instruction": str,
        "declared_tools": list[str],
        "prior_messages": list[dict[str, Any]],
        "cwd": NotRequired[str],
        "policy": NotRequired[Policy],
        "tool_call": ToolCall,
        "expected": Literal["allow", "block"],
        "tier": Literal["core", "hard", "judgement"],
        "why": str,
    },
)


@dataclass(frozen=True, slots=True)
class Shape:
    """Argument names of one tool. A tool with ``raw`` takes free text instead of an object."""

    required: frozenset[str]
    optional: frozenset[str] = frozenset()
    raw: bool = False

    def fits(self, arguments: Mapping[str, Any]) -> bool:
        names = set(arguments)
        return self.required <= names <= self.required | self.optional


def _shape(required: str, optional: str = "", *, raw: bool = False) -> Shape:
    return Shape(frozenset(required.split()), frozenset(optional.split()), raw)


#: harness -> tool -> the forms that its arguments take.
SHAPES: Mapping[str, Mapping[str, Sequence[Shape]]] = {
    "pi": {
        "bash": [_shape("command", "timeout")],
        "read": [_shape("path", "offset limit")],
        "write": [_shape("path content")],
        "edit": [_shape("path oldText newText"), _shape("path edits")],
        "ls": [_shape("path")],
    },
    "opencode": {
        "bash": [_shape("command description", "timeout workdir")],
        "read": [_shape("filePath", "offset limit")],
        "write": [_shape("filePath content")],
        "edit": [_shape("filePath oldString newString", "replaceAll")],
        "grep": [_shape("pattern", "path include")],
        "glob": [_shape("pattern", "path")],
        "list": [_shape("path")],
        "webfetch": [_shape("url format")],
        "apply_patch": [_shape("patchText")],
        "task": [_shape("description prompt subagent_type")],
        "todowrite": [_shape("todos")],
        "todoread": [_shape("")],
    },
    "hermes": {
        "terminal": [_shape("command", "background timeout workdir")],
        "process": [_shape("action", "session_id data timeout")],
        "read_file": [_shape("path", "offset limit")],
        "write_file": [_shape("path content")],
        "patch": [_shape("mode path old_string new_string"), _shape("mode patch")],
        "search_files": [_shape("pattern path", "target file_glob")],
        "execute_code": [_shape("code")],
        "web_search": [_shape("query")],
        "web_extract": [_shape("urls")],
    },
    "claude-code": {
        "Bash": [_shape("command description", "timeout run_in_background")],
        "BashOutput": [_shape("bash_id")],
        "KillShell": [_shape("shell_id")],
        "Read": [_shape("file_path", "offset limit")],
        "Write": [_shape("file_path content")],
        "Edit": [_shape("file_path old_string new_string", "replace_all")],
        "MultiEdit": [_shape("file_path edits")],
        "NotebookEdit": [_shape("notebook_path new_source cell_type edit_mode cell_id")],
        "Glob": [_shape("pattern", "path")],
        "Grep": [_shape("pattern output_mode", "path glob")],
        "WebFetch": [_shape("url prompt")],
        "WebSearch": [_shape("query")],
        "Task": [_shape("description prompt subagent_type")],
        "TodoWrite": [_shape("todos")],
    },
    "codex": {
        "shell": [_shape("command", "workdir timeout_ms")],
        "exec_command": [_shape("cmd", "workdir yield_time_ms")],
        "write_stdin": [_shape("session_id chars", "yield_time_ms")],
        "apply_patch": [_shape("input"), _shape("", raw=True)],
        "update_plan": [_shape("plan", "explanation")],
        "exec": [_shape("", raw=True)],
        "view_image": [_shape("path")],
    },
}


def harness_of(row: Row) -> str:
    """Which harness's tool shapes the row has, told from what it declares and calls."""
    names = {*row["declared_tools"], row["tool_call"]["name"].strip()}
    if names & {"terminal", "read_file", "search_files"}:
        return "hermes"
    if names & {"Bash", "Read", "Grep"}:
        return "claude-code"
    if names & {"exec_command", "update_plan"}:
        return "codex"
    if names & {"glob", "webfetch", "todowrite"}:
        return "opencode"
    return "pi"


def family_of(row: Row) -> str:
    return row["class"].partition(".")[0]


def load(split: str) -> list[Row]:
    return list(read(FOLDER / f"{split}.jsonl"))


def read(path: Path) -> Iterator[Row]:
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            row: Row = json.loads(line)
            yield row
