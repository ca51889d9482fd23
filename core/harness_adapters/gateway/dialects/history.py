"""A conversation put together in Chat Completions form from another dialect's parts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

Message = dict[str, Any]


class History:
    """Takes in a conversation in its order.

    Engines' chat templates know a system message only as the first one: what a harness says as the
    system before anybody else is joined into it, and what it says later becomes a user message
    that says so. Neither rewrites what earlier requests of the same conversation had.

    :ivar messages: the chat messages so far.
    """

    def __init__(self) -> None:
        self.messages: list[Message] = []

    def system(self, text: str) -> None:
        if not text:
            return
        if not self.messages:
            self.messages.append({"role": "system", "content": text})
        elif self.messages[-1]["role"] == "system":
            self.messages[-1]["content"] += f"\n\n{text}"
        else:
            self.user(f"<system-reminder>\n{text}\n</system-reminder>")

    def user(self, text: str) -> None:
        self.messages.append({"role": "user", "content": text})

    def assistant(
        self, text: str | None, *, reasoning: str = "", calls: Sequence[Message] = ()
    ) -> None:
        message: Message = {"role": "assistant", "content": text or None}
        if reasoning:
            message["reasoning_content"] = reasoning
        if calls:
            message["tool_calls"] = list(calls)
        elif not text:
            message["content"] = ""  # engines want either of the two
        self.messages.append(message)

    def tool(self, id: str, text: str) -> None:
        """A result. Harnesses send results as calls finish, and pair them by id; many templates
        pair them by place, so they are put in the order of the calls."""
        place = len(self.messages)
        while place and self.messages[place - 1]["role"] == "tool":
            place -= 1
        calls = self.messages[place - 1].get("tool_calls", ()) if place else ()
        order = {call["id"]: number for number, call in enumerate(calls)}
        last = len(order)
        mine = order.get(id, last)
        while (
            place < len(self.messages)
            and order.get(self.messages[place]["tool_call_id"], last) <= mine
        ):
            place += 1
        self.messages.insert(place, {"role": "tool", "tool_call_id": id, "content": text})


def chat_call(id: str, name: str, arguments: str) -> Message:
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}


def chat_tool(name: str, description: object, parameters: object) -> dict[str, Any]:
    """A declared tool; without parameters it takes an empty object."""
    function: dict[str, Any] = {"name": name}
    if isinstance(description, str) and description:
        function["description"] = description
    function["parameters"] = (
        parameters if isinstance(parameters, dict) else {"type": "object", "properties": {}}
    )
    return {"type": "function", "function": function}
