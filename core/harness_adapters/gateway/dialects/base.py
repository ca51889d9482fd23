"""One message model for all dialects: what a harness asks, and what it is answered.

Messages, tools and calls are kept in Chat Completions form, which is also what engines speak. A
dialect reads its own wire form into a ``ModelRequest`` and writes a ``ModelReply`` in it.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any, Protocol

import orjson

from harness_adapters.gateway.failures import Refused, WireError
from harness_adapters.gateway.guard.errors import MAX_NESTING

# Arguments as deep as the guard reads them, with what the wire has around them.
MAX_DEPTH = MAX_NESTING + 8


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolForm:
    """How a harness wants to be told of a call, where that is no plain function call.

    :param kind: ``function``, ``custom`` or ``local_shell``.
    :param name: the tool's name in the harness's own dialect.
    :param namespace: the group that it was declared in, or ``""``.
    """

    kind: str
    name: str
    namespace: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequest:
    """One request of a harness, sifted: what is not here does not reach the engine.

    :param tools: name -> declared tool, in Chat Completions form and wire order.
    :param added: names of those tools that messages brought in, after the conversation began.
    :param forms: tool name -> its form, only for tools that are no plain functions.
    :param options: further Chat Completions fields that go to the engine unchanged.
    :param max_tokens: what the harness asked for, or ``None``.
    :param include_usage: a streaming client wants a last event with the usage.
    """

    model: str
    messages: Sequence[dict[str, Any]]
    tools: Mapping[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    added: Set[str] = frozenset()
    forms: Mapping[str, ToolForm] = field(default_factory=dict[str, ToolForm])
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    max_tokens: int | None = None
    stream: bool = False
    include_usage: bool = False

    @property
    def system_text(self) -> str:
        return "\n".join(
            text_of(message.get("content"))
            for message in self.messages
            if message["role"] in ("system", "developer")
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Envelope:
    """What every event of one reply repeats. Made before the engine answers, for keep-alives."""

    id: str
    created: int
    model: str

    @classmethod
    def new(cls, model: str, *, prefix: str = "chatcmpl-") -> Envelope:
        """One with a fresh id, which starts with the dialect's own ``prefix``."""
        return cls(id=f"{prefix}{secrets.token_hex(12)}", created=int(time.time()), model=model)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelReply:
    """A reply as the harness is to receive it.

    :param message: assistant message: ``role``, ``content``, reasoning fields, ``tool_calls``.
    :param finish: ``stop``, ``tool_calls``, ``length`` or ``content_filter``.
    :param stop_sequence: the one of the request's stop texts that ended it, or ``None``.
    :param turn: index of the turn that it was committed as; ``None`` when it is no turn.
    """

    envelope: Envelope
    message: dict[str, Any]
    finish: str
    usage: Mapping[str, Any] = field(default_factory=dict[str, Any])
    stop_sequence: str | None = None
    turn: int | None = None


class Dialect(Protocol):
    """The wire form of one API. A stream is ``stream_start``, any number of ``keep_alive``, and
    ``stream_rest``, or ``stream_error`` in its place.

    ``waited`` is how many keep-alives went before: some dialects number their events.
    """

    @property
    def id_prefix(self) -> str:
        """What the ids of its replies start with."""
        ...

    def read(self, body: bytes) -> ModelRequest:
        """:raises Refused: it is malformed, or asks for something that cannot be captured."""
        ...

    def whole(self, request: ModelRequest, reply: ModelReply) -> bytes: ...

    def stream_start(self, envelope: Envelope) -> bytes: ...

    def keep_alive(self, envelope: Envelope, *, waited: int) -> bytes: ...

    def stream_rest(self, request: ModelRequest, reply: ModelReply, *, waited: int) -> bytes: ...

    def error(self, error: WireError) -> bytes: ...

    def stream_error(self, envelope: Envelope, error: WireError, *, waited: int) -> bytes: ...


def counted(usage: Mapping[str, Any], name: str, detail: str = "") -> int:
    """A count of a reply's usage, or one of its details; 0 where the engine does not say."""
    value: Any = usage.get(name)
    if detail:
        value = value.get(detail) if isinstance(value, dict) else None
    return value if isinstance(value, int) else 0


def text_of(content: object) -> str:
    """The text of a message's content, which is a string or a list of typed parts."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    return "\n".join(
        part["text"]
        for part in content
        if isinstance(part, dict) and isinstance(part.get("text"), str)
    )


def parse_object(body: bytes) -> dict[str, Any]:
    """A request body as a JSON object.

    Harnesses cut text between two UTF-16 halves and send the half: it becomes U+FFFD, since no
    engine takes it and a refusal would end an honest session.

    :raises Refused: it is none, or is nested deeper than ``MAX_DEPTH``.
    """
    try:
        parsed = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        parsed = _parse_with_lone_surrogates(body, error)
    if not isinstance(parsed, dict):
        raise Refused("the request body must be a JSON object")
    if _is_deep(parsed):
        raise Refused(f"the request body is nested more than {MAX_DEPTH} levels deep")
    return parsed


def _is_deep(value: object) -> bool:
    level: list[Any] = [value]
    for _ in range(MAX_DEPTH):
        level = [
            inner
            for outer in level
            for inner in (outer.values() if type(outer) is dict else outer)
            if type(inner) is dict or type(inner) is list
        ]
        if not level:
            return False
    return True


def _parse_with_lone_surrogates(body: bytes, error: orjson.JSONDecodeError) -> Any:
    import json

    try:
        text = json.dumps(json.loads(body), ensure_ascii=False, allow_nan=False)
        # surrogatepass and back as UTF-16 joins true pairs and leaves only lone halves to replace
        utf16 = text.encode("utf-16-le", "surrogatepass")
        return orjson.loads(utf16.decode("utf-16-le", "replace"))
    except (ValueError, RecursionError):
        raise Refused(f"the request body is not JSON: {error}") from None
