"""OpenAI Responses: from the first call item on everything waits for the terminal event."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from harness_adapters.gateway.failures import UpstreamError, WireError
from harness_adapters.gateway.interactive.base import (
    Asked,
    Door,
    HeldBytes,
    cut_off,
    objects,
    openai_error,
    text_message,
    unreadable,
)
from harness_adapters.gateway.interactive.responses_items import (
    SERVER_TOOLS,
    arguments_of,
    held,
    is_call,
    message_item,
    same,
    tool_names,
)
from harness_adapters.gateway.interactive.sse import COMMENT, SseEvent, encode
from harness_adapters.gateway.interactive.wire_json import (
    Wire,
    carries_call,
    read_object,
    write_json,
)

_ECHO = ("tools", "tool_choice", "instructions")
_ENDS = ("response.completed", "response.incomplete", "response.done")


class Responses:
    """``/v1/responses``."""

    def asked(self, request: Wire) -> Asked:
        tools = tool_names(request.get("tools"))
        given = request.get("input")
        messages = [text_message("system", request.get("instructions"))]
        if isinstance(given, str):
            messages.append(text_message("user", given))
        for item in objects(given):
            if str(item.get("type")).endswith("_output"):
                tools |= tool_names(item.get("tools"))  # found by a tool search
                result = text_message("tool", item.get("output"))
                messages.append({**result, "tool_call_id": item.get("call_id")})
            elif "role" in item:
                messages.append(text_message(item["role"], item.get("content")))
        return Asked(tools=tools, messages=messages)

    def without_server_tools(self, request: Wire) -> Wire:
        if not isinstance(request.get("tools"), list):
            return request
        tools = [
            tool
            for tool in objects(request["tools"])
            if not str(tool.get("type")).startswith(SERVER_TOOLS)
        ]
        return {**request, "tools": tools}

    async def whole(self, reply: Wire, door: Door) -> Wire:
        output = reply.get("output")
        if not isinstance(output, list):
            raise UpstreamError("the upstream's reply has no output")
        _check_rest(reply)
        ruled = await _ruled([item for item in output if is_call(item, door)], reply, door)
        return {**reply, "output": [_final(item, ruled) for item in output]}

    def stream(self, door: Door) -> ResponsesStream:
        return ResponsesStream(door)

    def error(self, error: WireError) -> bytes:
        return openai_error(error)


class _Call:
    """A call item in its place. What its deltas say does not count, only the whole item."""

    def __init__(self, index: int, item: Wire) -> None:
        self.index = index
        self.added = item
        self.item: Wire | None = None


class ResponsesStream:
    def __init__(self, door: Door) -> None:
        self._door = door
        self._held = HeldBytes()
        self._queue: list[Wire | _Call] = []
        self._calls: dict[int, _Call] = {}  # by our index
        self._indexes: dict[int, int] = {}  # the upstream's -> ours, without gaps
        self._response: Wire = {}
        self._sequence = 0
        self._over = False

    async def feed(self, event: SseEvent) -> bytes:
        if self._over or event.data.strip() == b"[DONE]":
            return b""
        data = read_object(event.data)
        kind = data.get("type")
        if not isinstance(kind, str):
            raise UpstreamError("the upstream sent an event without a type")
        if self._calls:
            self._held.add(len(event.data))
        if isinstance(response := data.get("response"), dict):
            _check_rest(response)
        if kind in _ENDS:
            return await self._end(data)
        if kind in ("error", "response.failed"):
            if carries_call({key: value for key, value in data.items() if key != "response"}):
                raise unreadable()
            self._over = True
            return self._event(self._without_output(data))
        if isinstance(response, dict):
            if any(is_call(item, self._door) for item in _list(response.get("output"))):
                raise unreadable()
            self._response = response
            return self._pass(data)
        return self._part(kind, data)

    def _part(self, kind: str, data: Wire) -> bytes:
        """An event of one output item."""
        if "output_index" in data:
            theirs = data["output_index"]
            if not isinstance(theirs, int):
                raise UpstreamError("the upstream sent an output index that is no number")
            index = self._indexes.setdefault(theirs, len(self._indexes))
            data["output_index"] = index
            item = data.get("item")
            if isinstance(item, dict) and is_call(item, self._door):
                self._call(index, item, done=kind == "response.output_item.done")
                return b""
            if index in self._calls:
                if item is not None:
                    raise UpstreamError("the upstream changed the type of an output item")
                return b""
        if carries_call({k: v for k, v in data.items() if k != "item"}) or (
            kind.startswith(("response.function_call", "response.custom_tool_call"))
        ):
            raise unreadable()
        if "item" in data and is_call(data["item"], self._door):
            raise unreadable()  # it has no place of its own
        return self._pass(data)

    def _call(self, index: int, item: Wire, *, done: bool) -> None:
        if index not in self._calls:
            self._calls[index] = _Call(index, item)
            self._queue.append(self._calls[index])
        if done:
            self._calls[index].item = item

    def _pass(self, data: Wire) -> bytes:
        if self._calls:
            self._queue.append(data)
            return b""
        return self._event(data)

    async def _end(self, data: Wire) -> bytes:
        response = data.get("response")
        if not isinstance(response, dict):
            raise UpstreamError("the upstream's last event has no response")
        output = _list(response.get("output"))
        in_output = [item for item in output if is_call(item, self._door)]
        streamed = list(self._calls.values())
        for call in streamed:
            if call.item is None:
                call.item = next((one for one in in_output if same(one, call.added)), None)
        items = [call.item or {**call.added, "status": "incomplete"} for call in streamed]
        items += [one for one in in_output if not any(same(one, item) for item in items)]
        ruled = await _ruled(items, response, self._door)
        self._over = True
        out = b""
        finals = iter(ruled)
        for one in self._queue:
            out += (
                self._item(one.index, next(finals)[1])
                if isinstance(one, _Call)
                else (self._event(one))
            )
        final = {**response, "output": [_final(item, ruled) for item in output]}
        return out + self._event({**data, "response": final})

    def _without_output(self, data: Wire) -> Wire:
        response = data.get("response")
        if isinstance(response, dict) and response.get("output"):
            return {**data, "response": {**response, "output": []}}
        return data

    def _item(self, index: int, item: Wire) -> bytes:
        """The whole life of one item."""
        kind, place = item["type"], {"item_id": item.get("id"), "output_index": index}
        start, middle = item, list[Wire]()
        if kind == "message":
            part = item["content"][0]
            place["content_index"] = 0
            start = {**item, "status": "in_progress", "content": []}
            text = {"text": part["text"], "logprobs": []}
            middle = [
                {"type": "response.content_part.added", **place, "part": {**part, "text": ""}},
                {
                    "type": "response.output_text.delta",
                    **place,
                    "delta": part["text"],
                    "logprobs": [],
                },
                {"type": "response.output_text.done", **place, **text},
                {"type": "response.content_part.done", **place, "part": part},
            ]
        elif kind == "function_call":
            raw, name = item["arguments"], item.get("name")
            start = {**item, "status": "in_progress", "arguments": ""}
            head = "response.function_call_arguments"
            middle = [
                {"type": f"{head}.delta", **place, "delta": raw},
                {"type": f"{head}.done", **place, "name": name, "arguments": raw},
            ]
        elif kind == "custom_tool_call":
            raw = item.get("input")
            start = {**item, "input": ""}
            head = "response.custom_tool_call_input"
            middle = [
                {"type": f"{head}.delta", **place, "delta": raw},
                {"type": f"{head}.done", **place, "input": raw},
            ]
        added = {"type": "response.output_item.added", "output_index": index, "item": start}
        done = {"type": "response.output_item.done", "output_index": index, "item": item}
        return b"".join(self._event(one) for one in (added, *middle, done))

    async def end(self) -> None:
        if not self._over:
            raise cut_off()

    def keep_alive(self) -> bytes:
        if not self._response:
            return COMMENT
        return self._event({"type": "response.in_progress", "response": self._response})

    def fail(self, error: WireError) -> bytes:
        self._over = True
        if not self._response:
            told = {"code": error.code, "message": str(error), "param": None}
            return self._event({"type": "error", **told})
        failed = {
            **self._response,
            "status": "failed",
            "output": [],
            "error": {"code": "server_error", "message": str(error)},
        }
        return self._event({"type": "response.failed", "response": failed})

    def _event(self, data: Wire) -> bytes:
        numbered = {**data, "sequence_number": self._sequence}
        self._sequence += 1
        return encode(write_json(numbered), str(data.get("type")))


def _check_rest(response: Wire) -> None:
    """What stands beside the output must hold no call; the echo of the request may.

    :raises UpstreamError: it does.
    """
    rest = {key: value for key, value in response.items() if key not in _ECHO}
    if isinstance(rest.get("output"), list):
        del rest["output"]  # read item by item
    if carries_call(rest):
        raise unreadable()


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


_Ruled = Sequence[tuple[Wire, Wire]]


async def _ruled(items: Sequence[Wire], response: Wire, door: Door) -> _Ruled:
    """Each call item with what takes its place: itself, or a message with the notice."""
    if not items:
        return []
    incomplete = response.get("status") == "incomplete"
    rulings = await door.rule([held(item, incomplete=incomplete) for item in items])
    return [
        (item, _normal(item) if notice is None else message_item(notice))
        for item, notice in zip(items, rulings, strict=True)
    ]


def _normal(item: Wire) -> Wire:
    if item["type"] == "function_call":
        return {**item, "arguments": arguments_of(item)}
    return item


def _final(item: Wire, ruled: _Ruled) -> Wire:
    for judged, final in ruled:
        if judged is item or (judged["type"] == item.get("type") and same(judged, item)):
            return final
    return item
