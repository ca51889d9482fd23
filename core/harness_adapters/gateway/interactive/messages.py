"""Anthropic Messages: from the first ``tool_use`` on everything waits for the end."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from harness_adapters.gateway.failures import UpstreamError, WireError
from harness_adapters.gateway.guard.strict_json import strict_object
from harness_adapters.gateway.interactive.base import (
    Asked,
    Door,
    HeldBytes,
    HeldCall,
    cut_off,
    objects,
    text_message,
    unreadable,
)
from harness_adapters.gateway.interactive.sse import COMMENT, SseEvent, encode
from harness_adapters.gateway.interactive.wire_json import (
    Wire,
    carries_call,
    read_object,
    write_json,
)

_TEXT = frozenset(("text", "thinking", "redacted_thinking"))
_RUN_BY_SERVER = frozenset(("server_tool_use", "mcp_tool_use"))
_SERVER_TOOLS = ("web_search_", "web_fetch_", "code_execution_", "mcp_toolset", "advisor_")
_ENDED = ("tool_use", "end_turn", "stop_sequence")  # of its own will
_ERRORS = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    504: "timeout_error",
    529: "overloaded_error",
}


class Messages:
    """``/v1/messages``."""

    def asked(self, request: Wire) -> Asked:
        tools = {
            tool["name"]: tool
            for tool in objects(request.get("tools"))
            if isinstance(tool.get("name"), str)
        }
        messages = [text_message("system", request.get("system"))]
        for message in objects(request.get("messages")):
            content = message.get("content")
            for part in objects(content):
                if part.get("type") == "tool_result":
                    result = text_message("tool", part.get("content"))
                    messages.append({**result, "tool_call_id": part.get("tool_use_id")})
            messages.append(text_message(message.get("role"), content))
        return Asked(tools=tools, messages=messages)

    def without_server_tools(self, request: Wire) -> Wire:
        kept = {key: value for key, value in request.items() if key != "mcp_servers"}
        if isinstance(request.get("tools"), list):
            kept["tools"] = [
                tool
                for tool in objects(request["tools"])
                if not str(tool.get("type", "")).startswith(_SERVER_TOOLS)
            ]
        return kept

    async def whole(self, reply: Wire, door: Door) -> Wire:
        content = reply.get("content")
        if not isinstance(content, list):
            raise UpstreamError("the upstream's reply has no content")
        if carries_call({**reply, "content": None}):
            raise unreadable()
        stop = reply.get("stop_reason")
        calls: list[Wire] = []
        for block in content:
            if _is_call(block, door):
                calls.append(block)
        held = [_held(call, _text_of(call.get("input")), stop) for call in calls]
        rulings = dict(zip(map(id, calls), await _ruled(door, held), strict=True))
        notices = [rulings.get(id(block)) for block in content]
        blocks = [
            block if notice is None else {"type": "text", "text": notice}
            for block, notice in zip(content, notices, strict=True)
        ]
        return _closed(
            {**reply, "content": blocks},
            kept=None in rulings.values(),
            blocked=_ids(calls, rulings.values()),
        )

    def stream(self, door: Door) -> MessagesStream:
        return MessagesStream(door)

    def error(self, error: WireError) -> bytes:
        kind = _ERRORS.get(
            error.status, "invalid_request_error" if error.status < 500 else "api_error"
        )
        return write_json({"type": "error", "error": {"type": kind, "message": str(error)}})


class _Block:
    """A content block under way, and the index that the client knows it by."""

    def __init__(self, index: int, start: Wire) -> None:
        self.index = index
        self.start = start
        self.parts: list[str] = []
        self.closed = False

    @property
    def kind(self) -> str:
        return str(self.start.get("type"))

    @property
    def is_call(self) -> bool:
        return self.kind == "tool_use"

    @property
    def raw(self) -> str:
        streamed = "".join(self.parts)
        return streamed if streamed.strip() else _text_of(self.start.get("input"))


class MessagesStream:
    def __init__(self, door: Door) -> None:
        self._door = door
        self._held = HeldBytes()
        self._queue: list[Wire | _Block] = []  # what waits: events, and calls in their place
        self._open: dict[int, _Block] = {}  # by the upstream's index
        self._count = 0
        self._holding = False
        self._stop: Any = None
        self._started = False
        self._over = False

    async def feed(self, event: SseEvent) -> bytes:
        if self._over:
            return b""
        data = read_object(event.data)
        kind = data.get("type")
        if self._holding:
            self._held.add(len(event.data))
        if kind == "content_block_start":
            return self._start_block(data)
        if kind == "content_block_delta":
            return self._extend_block(data)
        if kind == "content_block_stop":
            return self._stop_block(data)
        if not isinstance(kind, str) or carries_call(data):
            raise unreadable()
        if kind == "message_stop":
            return await self._stop_message(data)
        if kind == "message_delta":
            return self._close_message(data)
        self._over = kind == "error"
        self._started = self._started or kind == "message_start"
        if kind in ("ping", "error"):
            return _event(data)
        return self._pass(data)

    def _pass(self, data: Wire) -> bytes:
        if self._holding:
            self._queue.append(data)
            return b""
        return _event(data)

    def _start_block(self, data: Wire) -> bytes:
        start = data.get("content_block")
        call = _is_call(start, self._door)
        block = _Block(self._count, start if isinstance(start, dict) else {})
        index = data.get("index")
        if not isinstance(index, int) or index in self._open:
            raise UpstreamError("the upstream opened a content block twice, or without an index")
        self._open[index] = block
        self._count += 1
        if not call:
            return self._pass({**data, "index": block.index})
        self._holding = True
        self._queue.append(block)
        return b""

    def _extend_block(self, data: Wire) -> bytes:
        block, delta = self._block(data), data.get("delta")
        kind = delta.get("type") if isinstance(delta, dict) else None
        if not isinstance(delta, dict) or carries_call({**delta, "type": None}):
            raise unreadable()
        if block.is_call:
            text = delta.get("partial_json")
            if kind != "input_json_delta" or not isinstance(text, str):
                raise unreadable()
            block.parts.append(text)
            return b""
        if kind == "input_json_delta" and block.kind not in _RUN_BY_SERVER:
            raise unreadable()
        return self._pass({**data, "index": block.index})

    def _stop_block(self, data: Wire) -> bytes:
        block = self._block(data)
        del self._open[data["index"]]
        if not block.is_call:
            return self._pass({**data, "index": block.index})
        block.closed = True
        return b""

    def _block(self, data: Wire) -> _Block:
        index = data.get("index")
        if not isinstance(index, int) or index not in self._open:
            raise UpstreamError("the upstream continued a content block that is not open")
        return self._open[index]

    def _close_message(self, data: Wire) -> bytes:
        delta = data.get("delta")
        if isinstance(delta, dict) and delta.get("stop_reason") is not None:
            self._stop = delta["stop_reason"]
        if self._holding:
            self._queue.append(data)
            return b""
        return _event(_closed_delta(data, kept=False, blocked=set()))

    async def _stop_message(self, data: Wire) -> bytes:
        if self._holding and self._stop is None:
            raise cut_off()
        out, blocks = b"", [one for one in self._queue if isinstance(one, _Block)]
        held = [_held(b.start, b.raw, self._stop, closed=b.closed) for b in blocks]
        rulings = await _ruled(self._door, held)
        blocked = _ids([block.start for block in blocks], rulings)
        ruling = iter(rulings)
        for one in self._queue:
            if isinstance(one, _Block):
                notice = next(ruling)
                out += _call_events(one) if notice is None else _text_events(one.index, notice)
            elif one.get("type") == "message_delta":
                out += _event(_closed_delta(one, kept=None in rulings, blocked=blocked))
            else:
                out += _event(one)
        self._over = True
        return out + _event(data)

    async def end(self) -> None:
        if not self._over:
            raise cut_off()

    def keep_alive(self) -> bytes:
        return _event({"type": "ping"}) if self._started else COMMENT

    def fail(self, error: WireError) -> bytes:
        return encode(Messages().error(error), "error")


def _is_call(block: Any, door: Door) -> bool:
    """Whether the client would run it.

    :raises UpstreamError: it is a call in a form that cannot be judged.
    """
    if not isinstance(block, dict):
        raise unreadable()
    kind = str(block.get("type"))
    if kind == "tool_use":
        return True
    if kind in _RUN_BY_SERVER:
        door.server_tool(str(block.get("name")))
    elif kind not in _TEXT and not kind.endswith("_tool_result") and carries_call(block):
        raise unreadable()
    return False


def _held(start: Wire, raw: str, stop: Any, *, closed: bool = True) -> HeldCall:
    name = start.get("name")
    broken = stop not in _ENDED and strict_object(raw) is None
    return HeldCall(name=name if isinstance(name, str) else "", raw=raw, cut=broken or not closed)


def _text_of(input: Any) -> str:
    if isinstance(input, str):  # some servers send it as text
        return input if input.strip() else "{}"
    return "{}" if input is None else write_json(input).decode()


async def _ruled(door: Door, held: list[HeldCall]) -> list[str | None]:
    return await door.rule(held) if held else []


def _ids(calls: list[Wire], rulings: Iterable[str | None]) -> set[str]:
    return {
        str(call.get("id"))
        for call, notice in zip(calls, rulings, strict=True)
        if notice is not None
    }


def _closed(message: Wire, *, kept: bool, blocked: set[str]) -> Wire:
    """The fields that end a message, made to fit the calls that are left in it."""
    if message.get("stop_reason") == "tool_use" and not kept:
        message = {**message, "stop_reason": "end_turn"}
    elif message.get("stop_reason") == "end_turn" and kept:
        message = {**message, "stop_reason": "tool_use"}
    if blocked and "safeguard_results" in message:
        results = _without(message["safeguard_results"], blocked)
        message = {**message, "safeguard_results": results}
    return message


def _closed_delta(data: Wire, *, kept: bool, blocked: set[str]) -> Wire:
    delta = data.get("delta")
    if not isinstance(delta, dict):
        return data
    return {**data, "delta": _closed(delta, kept=kept, blocked=blocked)}


def _without(value: Any, blocked: set[str]) -> Any:
    """The API's own results about calls, without those about calls that are gone."""
    if isinstance(value, list):
        return [
            _without(one, blocked)
            for one in value
            if not (
                isinstance(one, dict)
                and any(isinstance(v, str) and v in blocked for v in one.values())
            )
        ]
    if isinstance(value, dict):
        return {key: _without(one, blocked) for key, one in value.items() if key not in blocked}
    return value


def _call_events(block: _Block) -> bytes:
    start = {**block.start, "input": {}}
    return _block_events(
        block.index, start, {"type": "input_json_delta", "partial_json": block.raw}
    )


def _text_events(index: int, text: str) -> bytes:
    return _block_events(index, {"type": "text", "text": ""}, {"type": "text_delta", "text": text})


def _block_events(index: int, start: Wire, delta: Wire) -> bytes:
    return (
        _event({"type": "content_block_start", "index": index, "content_block": start})
        + _event({"type": "content_block_delta", "index": index, "delta": delta})
        + _event({"type": "content_block_stop", "index": index})
    )


def _event(data: Wire) -> bytes:
    return encode(write_json(data), str(data.get("type", "")))
