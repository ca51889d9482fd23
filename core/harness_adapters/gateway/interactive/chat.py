"""Chat Completions: text and reasoning pass at once, tool calls wait for the finish reason."""

from __future__ import annotations

import json
import secrets
from collections.abc import Sequence
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
    openai_error,
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

_DONE = b"[DONE]"
_BODY = {"function": "arguments", "custom": "input"}  # where a call of this type has its text


class ChatCompletions:
    """``/v1/chat/completions``."""

    def asked(self, request: Wire) -> Asked:
        tools: dict[str, Wire] = {}
        for tool in objects(request.get("tools")):
            inner = tool.get(str(tool.get("type", "function")))
            if isinstance(inner, dict) and isinstance(inner.get("name"), str):
                tools[inner["name"]] = tool
        messages = [
            text_message(message.get("role"), message.get("content"))
            for message in objects(request.get("messages"))
        ]
        return Asked(tools=tools, messages=messages)

    def without_server_tools(self, request: Wire) -> Wire:
        kept = {k: v for k, v in request.items() if k not in ("web_search_options", "plugins")}
        if isinstance(request.get("tools"), list):
            kept["tools"] = [t for t in objects(request["tools"]) if t.get("type") in _BODY]
        return kept

    async def whole(self, reply: Wire, door: Door) -> Wire:
        choice = dict(_only_choice(reply))
        if not isinstance(choice.get("message"), dict):
            raise UpstreamError("the upstream's reply has no message")
        message = dict(choice["message"])
        calls = _Calls()
        calls.take(message.pop("tool_calls", None))
        if carries_call(message) or carries_call(
            {**reply, "choices": [{**choice, "message": None}]}
        ):
            raise unreadable()
        kept, notices = await calls.ruled(door, choice.get("finish_reason"))
        if notices:
            message["content"] = _with_notices(message.get("content"), notices)
        if kept:
            message["tool_calls"] = kept
        choice["message"] = message
        choice["finish_reason"] = _finish(choice.get("finish_reason"), bool(kept))
        return {**reply, "choices": [choice]}

    def stream(self, door: Door) -> ChatStream:
        return ChatStream(door)

    def error(self, error: WireError) -> bytes:
        return openai_error(error)


class ChatStream:
    def __init__(self, door: Door) -> None:
        self._door = door
        self._calls = _Calls()
        self._held = HeldBytes()
        self._head: Wire = {}
        self._said = False
        self._finished = False
        self._over = False

    async def feed(self, event: SseEvent) -> bytes:
        if self._over:
            return b""
        if event.data.strip() == _DONE:
            if not self._finished and self._calls.listed:
                raise cut_off()
            self._over = True
            return encode(_DONE)
        chunk = read_object(event.data)
        choices = chunk.get("choices")
        if chunk.get("error") or not choices:
            if carries_call(chunk):
                raise unreadable()
            self._over = bool(chunk.get("error"))
            return encode(write_json(chunk))
        return await self._choice(chunk, _only_choice(chunk), len(event.data))

    async def _choice(self, chunk: Wire, choice: Wire, size: int) -> bytes:
        delta = choice.get("delta")
        if not isinstance(delta, dict):
            delta = {}
        parts = delta.pop("tool_calls", None)
        if carries_call(chunk):
            raise unreadable()
        if parts:
            if self._finished:
                raise UpstreamError("the upstream sent a tool call after the end of its message")
            self._held.add(size)
            self._calls.take(parts)
        self._head = {k: v for k, v in chunk.items() if k not in ("choices", "usage")}
        self._said = self._said or bool(delta.get("content"))
        choice["delta"] = delta
        finish = choice.get("finish_reason")
        if finish is not None:
            return await self._finish(chunk, choice, finish)
        says = any(value is not None for value in delta.values())
        if parts and not says and not chunk.get("usage") and not choice.get("logprobs"):
            return b""
        return encode(write_json(chunk))

    async def _finish(self, chunk: Wire, choice: Wire, finish: Any) -> bytes:
        if self._finished:
            return encode(write_json(chunk))
        self._finished = True
        kept, notices = await self._calls.ruled(self._door, finish)
        out = b""
        if (kept or notices) and choice["delta"]:
            out += self._delta(choice["delta"])
            choice["delta"] = {}
        for index, call in enumerate(kept):
            out += self._delta({"tool_calls": [{"index": index, **call}]})
        if notices:
            text = "\n".join(notices)
            out += self._delta({"content": f"\n\n{text}" if self._said else text})
        choice["finish_reason"] = _finish(finish, bool(kept))
        return out + encode(write_json(chunk))

    async def end(self) -> None:
        if not self._finished and not self._over:
            raise cut_off()

    def keep_alive(self) -> bytes:
        return self._delta({}) if self._head and not self._finished else COMMENT

    def fail(self, error: WireError) -> bytes:
        return encode(openai_error(error))  # no [DONE]: a cut must not read as an end

    def _delta(self, delta: Wire) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": None}
        return encode(write_json({**self._head, "choices": [choice]}))


class _Calls:
    """Tool calls put together from whole ones or from deltas."""

    def __init__(self) -> None:
        self.listed: list[Wire] = []
        self._of_index: dict[int, Wire] = {}

    def take(self, parts: Any) -> None:
        """:raises UpstreamError: they are no calls that can be judged."""
        if parts is None:
            return
        if not isinstance(parts, list):
            raise unreadable()
        for part in parts:
            if not isinstance(part, dict):
                raise unreadable()
            self._add(part)

    def _add(self, part: Wire) -> None:
        call = self._continued(part)
        for key, value in part.items():
            if key == "index" or value is None:
                continue
            if key in _BODY:
                self._extend(call, key, value)
            elif carries_call(value):
                raise unreadable()
            elif key != "type" or "type" not in call:
                call[key] = value
        if sum(kind in call for kind in _BODY) > 1:
            raise unreadable()

    def _continued(self, part: Wire) -> Wire:
        """The call that a delta belongs to. Some servers give every call of a message the same
        index, and some give none."""
        index, id = part.get("index"), part.get("id")
        known = self._of_index.get(index) if isinstance(index, int) else None
        if index is None and not id and self.listed:
            known = self.listed[-1]
        if known is None or (id and known.get("id") and known["id"] != id):
            known = {}
            self.listed.append(known)
        if isinstance(index, int):
            self._of_index[index] = known
        return known

    def _extend(self, call: Wire, kind: str, part: Any) -> None:
        if not isinstance(part, dict):
            raise unreadable()
        inner = call.setdefault(kind, {"name": "", _BODY[kind]: ""})
        name, text = part.get("name"), part.get(_BODY[kind])
        if isinstance(name, str) and name != inner["name"]:
            inner["name"] += name
        if isinstance(text, str):
            inner[_BODY[kind]] += text
        elif text is not None:  # some servers send the parsed object
            inner[_BODY[kind]] += write_json(text).decode()

    async def ruled(self, door: Door, finish: Any) -> tuple[list[Wire], list[str]]:
        """The calls that go through, whole and each with an id of its own, and the notices."""
        if not self.listed:
            return [], []
        calls, ids = [_whole(call) for call in self.listed], set[str]()
        for call in calls:
            if not isinstance(call["id"], str) or not call["id"] or call["id"] in ids:
                call["id"] = f"call_{secrets.token_hex(12)}"
            ids.add(call["id"])
        rulings = await door.rule([_held(call, finish) for call in calls])
        kept = [call for call, ruling in zip(calls, rulings, strict=True) if ruling is None]
        return kept, [ruling for ruling in rulings if ruling is not None]


def _whole(call: Wire) -> Wire:
    kind = next((kind for kind in _BODY if kind in call), "function")
    inner = dict(call.get(kind, {"name": "", "arguments": ""}))
    if kind == "function" and not inner["arguments"].strip():
        inner["arguments"] = "{}"  # tools without parameters
    rest = {key: value for key, value in call.items() if key not in ("id", "type", kind)}
    return {"id": call.get("id"), "type": kind, kind: inner, **rest}


def _held(call: Wire, finish: Any) -> HeldCall:
    inner = call[call["type"]]
    if call["type"] == "custom":
        raw = json.dumps({"input": inner["input"]})
        return HeldCall(name=inner["name"], raw=raw, cut=finish == "length")
    raw = inner["arguments"]
    broken = finish not in ("tool_calls", "stop") and strict_object(raw) is None
    return HeldCall(name=inner["name"], raw=raw, cut=broken)


def _only_choice(reply: Wire) -> Wire:
    choices = reply.get("choices")
    if (
        not isinstance(choices, list)
        or len(choices) != 1
        or not isinstance(choices[0], dict)
        or choices[0].get("index", 0) != 0
    ):
        raise UpstreamError("the upstream's reply must have exactly one choice")
    return choices[0]


def _finish(finish: Any, calls: bool) -> Any:
    if calls:
        return "tool_calls" if finish in ("stop", "function_call") else finish
    return "stop" if finish in ("tool_calls", "function_call") else finish


def _with_notices(content: Any, notices: Sequence[str]) -> Any:
    text = "\n".join(notices)
    if isinstance(content, list):
        return [*content, {"type": "text", "text": text}]
    return f"{content}\n\n{text}" if content else text
