"""What the three protocols have in common: calls are held, ruled on, and stand or are replaced."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from harness_adapters.gateway.failures import UpstreamError, WireError
from harness_adapters.gateway.interactive.sse import SseEvent
from harness_adapters.gateway.interactive.wire_json import Wire, write_json

MAX_HELD_BYTES = 32 * 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldCall:
    """A call as it would reach the client.

    :param raw: arguments as text.
    :param cut: it never came to its end, so it is not forwarded whatever the rules say.
    """

    name: str
    raw: str
    cut: bool = False


class Door(Protocol):
    """Rules on the calls of one reply."""

    async def rule(self, calls: Sequence[HeldCall]) -> list[str | None]:
        """For each call the notice that takes its place, or ``None`` when it goes through.

        Asked once per reply, when all of its calls are whole: a reply that is cut off leaves no
        trace in the ledger.
        """
        ...

    def server_tool(self, name: str) -> None:
        """The reply shows that the upstream ran a tool of its own.

        :raises UpstreamError: the person wants none of these.
        """
        ...


class Stream(Protocol):
    """One streamed reply on its way to the client."""

    async def feed(self, event: SseEvent) -> bytes:
        """What goes on to the client now; nothing while calls are held.

        :raises UpstreamError: it cannot be passed on safely; ``fail`` says so to the client.
        """
        ...

    async def end(self) -> None:
        """:raises UpstreamError: the upstream ended in the middle of the reply."""
        ...

    def keep_alive(self) -> bytes: ...

    def fail(self, error: WireError) -> bytes: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What the guard wants to know of a request.

    :param tools: name -> declaration.
    :param messages: the conversation, as chat messages of text.
    """

    tools: Mapping[str, Wire] = field(default_factory=dict[str, Wire])
    messages: Sequence[Wire] = ()


class Protocols(Protocol):
    """One API: how its requests are read, its replies judged, its errors worded."""

    def asked(self, request: Wire) -> Asked: ...

    def without_server_tools(self, request: Wire) -> Wire: ...

    async def whole(self, reply: Wire, door: Door) -> Wire:
        """:raises UpstreamError: it cannot be passed on safely."""
        ...

    def stream(self, door: Door) -> Stream: ...

    def error(self, error: WireError) -> bytes: ...


class HeldBytes:
    """How much is held back of one reply."""

    def __init__(self, limit: int = MAX_HELD_BYTES) -> None:
        self._left = limit

    def add(self, count: int) -> None:
        """:raises UpstreamError: it is more than may be held."""
        self._left -= count
        if self._left < 0:
            raise UpstreamError("the upstream's tool calls are too large to be held and judged")


def cut_off() -> UpstreamError:
    return UpstreamError("the upstream ended in the middle of its reply", code="upstream_cut")


def unreadable() -> UpstreamError:
    return UpstreamError(
        "the upstream sent a tool call in a form that the guard cannot judge",
        code="unjudgeable_reply",
    )


def openai_error(error: WireError) -> bytes:
    """The error object of both of OpenAI's APIs."""
    kind = "invalid_request_error" if error.status < 500 else "api_error"
    return write_json(
        {"error": {"message": str(error), "type": kind, "param": None, "code": error.code}}
    )


def our_fault() -> WireError:
    """For the client when the gateway itself is broken: an error, and no call."""
    return WireError("the gateway failed on this request", status=500, code="gateway_error")


def text_message(role: Any, content: Any) -> Wire:
    """A message as far as the ledger reads it: its role, and the text in it."""
    return {"role": role, "content": content if isinstance(content, str) else _parts(content)}


def _parts(content: Any) -> list[Wire]:
    if not isinstance(content, list):
        return []
    return [
        {"type": "text", "text": part["text"]}
        for part in content
        if isinstance(part, dict) and isinstance(part.get("text"), str)
    ]


def objects(value: Any) -> list[Wire]:
    """The objects of a list; of anything else none."""
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []
