"""From what a play wants to do to calls of the tools that a harness declares.

A play speaks in four intents; pi, opencode, hermes, Claude Code and Codex each name and shape
their tools differently. What a harness lacks is done through its shell.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import orjson

from harness_adapters.serve.scripted.conversation import Tool
from harness_adapters.serve.tokens import Call

_PATH = ("path", "file_path", "filePath", "filepath")
_COMMAND = ("command", "cmd")
_CONTENT = ("content", "contents", "file_text")
_OLD = ("oldText", "oldString", "old_string", "old_text")
_NEW = ("newText", "newString", "new_string", "new_text")

_READ_NAMES = ("read", "read_file", "view")
_EDIT_NAMES = ("edit", "patch", "edit_file", "str_replace")
_WRITE_NAMES = ("write", "write_file", "create_file")
_SHELL_NAMES = ("bash", "shell", "terminal", "exec_command", "shell_command", "run_command")


@dataclass(frozen=True, slots=True)
class Read:
    """Look at a file; ``lines`` limits how much where the tool can."""

    path: str
    lines: int | None = None


@dataclass(frozen=True, slots=True)
class Edit:
    """Replace texts that each stand once in the file; none overlaps another."""

    path: str
    replacements: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Write:
    path: str
    content: str


@dataclass(frozen=True, slots=True)
class Shell:
    command: str


@dataclass(frozen=True, slots=True)
class Verbatim:
    """A call as it stands, well-formed or not, declared or not."""

    name: str
    arguments: str


Intent = Read | Edit | Write | Shell | Verbatim


class Vocabulary:
    """The tools of one request.

    :param cwd: the working folder, put before paths where a tool asks for absolute ones.
    """

    def __init__(self, tools: Sequence[Tool], cwd: str) -> None:
        self._tools = {tool.name.lower(): tool for tool in tools}
        self._cwd = cwd

    @cached_property
    def shell(self) -> Tool | None:
        return self._find(_SHELL_NAMES, (_COMMAND,))

    def calls(self, intent: Intent) -> list[Call]:
        """Calls to make one after another; none when the harness has no fitting tool."""
        match intent:
            case Verbatim(name, arguments):
                return [Call(name, arguments)]
            case Shell(command):
                return self._shell(command)
            case Read(path, lines):
                return self._read(path, lines)
            case Write(path, content):
                return self._write(path, content)
            case Edit(path, replacements):
                return self._edit(path, replacements)

    def _shell(self, command: str) -> list[Call]:
        if self.shell is None:
            return []
        name = _property(self.shell, _COMMAND)
        listed = _properties(self.shell)[name].get("type") == "array"
        value = ["bash", "-lc", command] if listed else command
        return [self._call(self.shell, {name: value}, purpose=command)]

    def _read(self, path: str, lines: int | None) -> list[Call]:
        tool = self._find(_READ_NAMES, (_PATH,))
        if tool is None:
            quoted = shlex.quote(path)
            return self._shell(f"head -n {lines} {quoted}" if lines else f"cat {quoted}")
        limit = {"limit": lines} if lines and "limit" in _properties(tool) else {}
        return [self._call(tool, self._at(tool, path) | limit, purpose=f"Read {path}")]

    def _write(self, path: str, content: str) -> list[Call]:
        tool = self._find(_WRITE_NAMES, (_PATH, _CONTENT))
        if tool is None:
            return self._shell(shell_write(path, content))
        arguments = self._at(tool, path) | {_property(tool, _CONTENT): content}
        return [self._call(tool, arguments, purpose=f"Write {path}")]

    def _edit(self, path: str, replacements: tuple[tuple[str, str], ...]) -> list[Call]:
        if tool := self._find(_EDIT_NAMES, (_PATH, ("edits",))):
            item = _properties(tool)["edits"].get("items", {}).get("properties", {})
            old, new = _first(_OLD, item), _first(_NEW, item)
            if old and new:
                edits = [{old: before, new: after} for before, after in replacements]
                arguments = self._at(tool, path) | {"edits": edits}
                return [self._call(tool, arguments, purpose=f"Edit {path}")]
        tool = self._find(_EDIT_NAMES, (_PATH, _OLD, _NEW))
        if tool is None:
            return self._shell(_shell_edit(path, replacements))
        old, new = _property(tool, _OLD), _property(tool, _NEW)
        return [
            self._call(
                tool, self._at(tool, path) | {old: before, new: after}, purpose=f"Edit {path}"
            )
            for before, after in replacements
        ]

    def _find(self, names: Iterable[str], needed: Sequence[Sequence[str]]) -> Tool | None:
        """The first tool of such a name that takes one argument of each needed group."""
        for name in names:
            tool = self._tools.get(name)
            if tool and all(_first(group, _properties(tool)) for group in needed):
                return tool
        return None

    def _at(self, tool: Tool, path: str) -> dict[str, Any]:
        name = _property(tool, _PATH)
        described = str(_properties(tool)[name].get("description", "")).lower()
        if "absolute" in described and "relative" not in described and path[:1] not in "/~":
            path = f"{self._cwd.rstrip('/')}/{path}"
        return {name: path}

    def _call(self, tool: Tool, arguments: dict[str, Any], *, purpose: str) -> Call:
        for name in tool.schema.get("required") or ():
            if name not in arguments:
                arguments[name] = _filler(_properties(tool).get(name, {}), purpose)
        return Call(tool.name, orjson.dumps(arguments).decode())


def shell_write(path: str, content: str) -> str:
    """A shell command that writes a file, here document and all."""
    quoted = shlex.quote(path)
    parent = path.rpartition("/")[0]
    made = f"mkdir -p {shlex.quote(parent)} && " if parent else ""
    if not content.endswith("\n"):
        return f"{made}printf %s {shlex.quote(content)} > {quoted}"
    mark = _mark(content)
    return f"{made}cat > {quoted} <<'{mark}'\n{content}{mark}"


def _shell_edit(path: str, replacements: tuple[tuple[str, str], ...]) -> str:
    steps = "".join(
        f"assert text.count({before!r}) == 1\ntext = text.replace({before!r}, {after!r})\n"
        for before, after in replacements
    )
    script = (
        f"from pathlib import Path\npath = Path({path!r})\ntext = path.read_text()\n"
        f"{steps}path.write_text(text)\n"
    )
    mark = _mark(script)
    return f"python3 - <<'{mark}'\n{script}{mark}"


def _mark(text: str) -> str:
    mark = "EOF"
    while mark in text.splitlines():
        mark += "_"
    return mark


def _properties(tool: Tool) -> Mapping[str, Mapping[str, Any]]:
    properties = tool.schema.get("properties")
    return properties if isinstance(properties, Mapping) else {}


def _first(names: Iterable[str], properties: Mapping[str, Any]) -> str | None:
    return next((name for name in names if name in properties), None)


def _property(tool: Tool, names: Iterable[str]) -> str:
    """The name this tool uses; only asked after ``_find`` saw that it has one."""
    name = _first(names, _properties(tool))
    assert name is not None
    return name


def _filler(schema: Mapping[str, Any], purpose: str) -> Any:
    """A value for a required argument that no intent speaks of."""
    if "default" in schema:
        return schema["default"]
    if choices := schema.get("enum"):
        return choices[0]
    kinds: dict[Any, Any] = {
        "boolean": False,
        "integer": max(1, int(schema.get("minimum", 1))),
        "number": max(1, schema.get("minimum", 1)),
        "array": [],
        "object": {},
    }
    return kinds.get(schema.get("type"), purpose.splitlines()[0][:60])
