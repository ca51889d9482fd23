"""Tools of OpenAI Responses as the engine knows them: functions, whatever the harness calls them.

A ``custom`` tool takes free text, which becomes the one argument of a function; only those whose
text the guard reads are served. ``local_shell`` has no schema of its own on the wire. A
``namespace`` is a group of tools, whose names it qualifies.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import orjson

from harness_adapters.gateway.dialects.base import ToolForm
from harness_adapters.gateway.dialects.checks import objects, text_field
from harness_adapters.gateway.dialects.history import chat_tool
from harness_adapters.gateway.failures import Refused
from harness_adapters.gateway.guard.strict_json import strict_object

INPUT = "input"
# Free text in another language (a program, say) would be a call that no guard can read.
READABLE = frozenset({"apply_patch"})
LOCAL_SHELL = "local_shell"
LOCAL_SHELL_DESCRIPTION = "Runs a command on the user's machine and returns its output."
LOCAL_SHELL_PARAMETERS = {
    "type": "object",
    "properties": {
        "command": {
            "type": "array",
            "items": {"type": "string"},
            "description": "The program and its arguments.",
        },
        "timeout_ms": {"type": "integer", "description": "Time limit in milliseconds."},
        "working_directory": {"type": "string", "description": "Where to run it."},
    },
    "required": ["command"],
}

Tools = dict[str, dict[str, Any]]
Forms = dict[str, ToolForm]


def read_tools(listed: object) -> tuple[Tools, Forms]:
    """Declared tools in Chat Completions form, and the forms of those that are no plain functions.

    :raises Refused: they are malformed, or a server would run one.
    """
    tools: Tools = {}
    forms: Forms = {}
    for tool, where, namespace in _flat(listed):
        kind = tool.get("type")
        if kind == LOCAL_SHELL:
            name = LOCAL_SHELL
            forms[name] = ToolForm(kind=LOCAL_SHELL, name=name)
            tools[name] = chat_tool(name, LOCAL_SHELL_DESCRIPTION, LOCAL_SHELL_PARAMETERS)
            continue
        if kind not in ("function", "custom"):
            raise Refused(
                f"'{where}' ({kind}): a tool that the server runs is not served here, "
                "since no guard sees its calls first",
                code="unsupported_tool",
            )
        own = text_field(tool, "name", f"{where}.")
        if kind == "custom" and own not in READABLE:
            raise Refused(
                f"'{where}' ({own}): a custom tool is not served here, "
                "since no guard reads what it is told",
                code="unsupported_tool",
            )
        name = flat_name(own, namespace)
        parameters = _free_text(tool) if kind == "custom" else tool.get("parameters")
        tools[name] = chat_tool(name, tool.get("description"), parameters)
        if kind == "custom" or namespace:
            forms[name] = ToolForm(kind=kind, name=own, namespace=namespace)
    return tools, forms


def _flat(listed: object) -> Iterator[tuple[dict[str, Any], str, str]]:
    for number, tool in enumerate(objects(listed, "tools") if listed is not None else ()):
        where = f"tools[{number}]"
        if tool.get("type") == "namespace":
            namespace = text_field(tool, "name", f"{where}.")
            for place, inner in enumerate(objects(tool.get("tools"), f"{where}.tools")):
                yield inner, f"{where}.tools[{place}]", namespace
        else:
            yield tool, where, ""


def flat_name(name: str, namespace: object) -> str:
    """The one name that the engine knows a tool by."""
    return f"{namespace}__{name}" if isinstance(namespace, str) and namespace else name


def _free_text(tool: Mapping[str, Any]) -> dict[str, Any]:
    text: dict[str, Any] = {"type": "string"}
    form = tool.get("format")
    if isinstance(form, dict) and isinstance(definition := form.get("definition"), str):
        text["description"] = f"Text in this {form.get('syntax', 'grammar')} grammar:\n{definition}"
    return {"type": "object", "properties": {INPUT: text}, "required": [INPUT]}


def item_of_call(call: Mapping[str, Any], form: ToolForm | None, id: str) -> dict[str, Any]:
    """The output item that tells the harness of a call.

    Arguments that do not fit a custom tool or a shell become an empty text or command, which such
    a tool refuses: passing the raw text on would make up a call that the guard has not seen.
    """
    function = call["function"]
    kind = form.kind if form else "function"
    fields: dict[str, Any] = {"call_id": call["id"], "status": "completed"}
    if kind == LOCAL_SHELL:
        action = _action(strict_object(function["arguments"]) or {})
        return {"type": "local_shell_call", "id": f"lsh_{id}", **fields, "action": action}
    fields["name"] = form.name if form else function["name"]
    if form and form.namespace:
        fields["namespace"] = form.namespace
    if kind == "custom":
        text = (strict_object(function["arguments"]) or {}).get(INPUT)
        text = text if isinstance(text, str) else ""
        return {"type": "custom_tool_call", "id": f"ctc_{id}", **fields, "input": text}
    arguments = function["arguments"]
    return {"type": "function_call", "id": f"fc_{id}", **fields, "arguments": arguments}


def _action(arguments: Mapping[str, Any]) -> dict[str, Any]:
    command = arguments.get("command")
    fits = isinstance(command, list) and all(isinstance(part, str) for part in command)
    timeout, folder = arguments.get("timeout_ms"), arguments.get("working_directory")
    return {
        "type": "exec",
        "command": command if fits else [],
        "env": {},
        "timeout_ms": timeout if isinstance(timeout, int) else None,
        "user": None,
        "working_directory": folder if isinstance(folder, str) else None,
    }


def call_of_item(item: Mapping[str, Any], where: str) -> tuple[str, str, str]:
    """Id, name and arguments of a call that stands in a request's history.

    :raises Refused: it is malformed.
    """
    if item["type"] == "local_shell_call":
        action = item.get("action")
        if not isinstance(action, dict):
            raise Refused(f"'{where}action' must be an object")
        said = {
            name: action[name]
            for name in LOCAL_SHELL_PARAMETERS["properties"]
            if action.get(name) is not None
        }
        id = text_field(item, "call_id" if item.get("call_id") else "id", where)
        return id, LOCAL_SHELL, orjson.dumps(said).decode()
    id = text_field(item, "call_id", where)
    name = flat_name(text_field(item, "name", where), item.get("namespace"))
    if item["type"] == "custom_tool_call":
        text = text_field(item, "input", where)
        return id, name, orjson.dumps({INPUT: text}).decode()
    return id, name, text_field(item, "arguments", where)
