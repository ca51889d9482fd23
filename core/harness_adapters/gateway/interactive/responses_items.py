"""Output items of the Responses API: which are calls for the client, and how each is judged."""

from __future__ import annotations

import json
import secrets
from typing import Any

from harness_adapters.gateway.guard.strict_json import strict_object
from harness_adapters.gateway.interactive.base import Door, HeldCall, unreadable
from harness_adapters.gateway.interactive.wire_json import Wire, carries_call, write_json

RUN_BY_SERVER = frozenset(
    (
        "web_search_call",
        "file_search_call",
        "code_interpreter_call",
        "image_generation_call",
        "mcp_call",
        "mcp_list_tools",
        "mcp_approval_request",
    )
)
SERVER_TOOLS = ("web_search", "file_search", "code_interpreter", "image_generation", "mcp")
_PACKED = frozenset(("compaction", "compaction_summary"))
# calls without a name, and the field that says what is to be done
_UNNAMED = {
    "local_shell_call": "action",
    "shell_call": "action",
    "computer_call": "action",
    "apply_patch_call": "operation",
    "tool_search_call": "arguments",
}


def is_call(item: Any, door: Door) -> bool:
    """Whether an output item is a call that the client would run.

    :raises UpstreamError: it is one in a form that cannot be judged.
    """
    if not isinstance(item, dict):
        raise unreadable()
    kind = str(item.get("type"))
    if kind in ("function_call", "custom_tool_call") or kind in _UNNAMED:
        return True
    if kind in RUN_BY_SERVER:
        door.server_tool(kind)
    elif carries_call(item.get("content") if kind in _PACKED or _is_result(kind) else item):
        raise unreadable()
    return False


def _is_result(kind: str) -> bool:
    return kind.endswith("_output")


def held(item: Wire | None, *, incomplete: bool) -> HeldCall:
    """:param item: the whole item; ``None`` when the upstream never sent it.
    :param incomplete: the reply was stopped by a limit.
    """
    if item is None:
        return HeldCall(name="", raw="{}", cut=True)
    cut = item.get("status") == "incomplete"
    kind = item["type"]
    if kind == "custom_tool_call":
        raw = json.dumps({"input": _text(item.get("input"))})
        return HeldCall(name=_text(item.get("name")), raw=raw, cut=cut or incomplete)
    if kind == "function_call":
        raw = arguments_of(item)
        cut = cut or (incomplete and strict_object(raw) is None)
        return HeldCall(name=_text(item.get("name")), raw=raw, cut=cut)
    done = item.get(_UNNAMED[kind])
    raw = done if isinstance(done, str) else write_json(done).decode()
    return HeldCall(name=kind.removesuffix("_call"), raw=raw, cut=cut)


def arguments_of(item: Wire) -> str:
    sent = item.get("arguments")
    if isinstance(sent, str):
        return sent if sent.strip() else "{}"
    return "{}" if sent is None else write_json(sent).decode()


def same(one: Wire, other: Wire) -> bool:
    """Whether two items are the same call, as it was streamed and as it stands in the output."""
    return any(one.get(key) and one[key] == other.get(key) for key in ("call_id", "id"))


def message_item(text: str) -> Wire:
    return {
        "id": f"msg_{secrets.token_hex(24)}",
        "type": "message",
        "status": "completed",
        "role": "assistant",
        "content": [{"type": "output_text", "text": text, "annotations": [], "logprobs": []}],
    }


def tool_names(tools: Any) -> dict[str, Wire]:
    """Name -> declaration, also of tools inside namespaces, and of built-in ones by their type."""
    found: dict[str, Wire] = {}
    for tool in tools if isinstance(tools, list) else ():
        if not isinstance(tool, dict):
            continue
        kind, name = str(tool.get("type")), tool.get("name")
        if kind == "namespace":
            found |= tool_names(tool.get("tools"))
        elif isinstance(name, str):
            found[name] = tool
        elif kind.startswith("computer"):
            found["computer"] = tool
        elif not kind.startswith(SERVER_TOOLS):
            found[kind] = tool
    return found


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
