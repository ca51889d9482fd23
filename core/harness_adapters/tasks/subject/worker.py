"""Runs beside the agent's code: one request from standard input, one reply to standard output.

Nothing here is trusted: code under test shares this process and may do anything to it. Whatever
comes out is only ever a JSON value, or it is no reply. Needs nothing but the standard library.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from typing import Any

MAX_REPLY_BYTES = 1 << 20
MAX_MESSAGE = 2_000


def main() -> None:
    # What the code under test prints must not be taken for the reply, nor may it read the request.
    reply_to = os.dup(1)
    request = json.loads(sys.stdin.buffer.readline())
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)
    try:
        reply = {"value": plain(carry_out(request))}
    except BaseException as error:
        reply = {"error": describe(error)}
    data = json.dumps(reply, allow_nan=False).encode()
    if len(data) > MAX_REPLY_BYTES:
        fault = {"type": "TooLarge", "bases": ["TooLarge"], "message": f"{len(data)} bytes"}
        data = json.dumps({"error": fault}).encode()
    data += b"\n"
    while data:
        data = data[os.write(reply_to, data) :]
    os._exit(0)


def carry_out(request: dict[str, Any]) -> object:
    if before := request.get("before"):
        exec(compile(before, "<before>", "exec"), {"__name__": "before"})  # noqa: S102
    sys.path[:0] = [path for path in request["import_from"] if os.path.isdir(path)]  # noqa: PTH112
    if "source" in request:
        names: dict[str, Any] = {"__name__": "__subject__"}
        exec(compile(request["source"], "<test>", "exec"), names)  # noqa: S102
        return names["result"]
    module, _, name = request["target"].partition(":")
    found: Any = importlib.import_module(module)
    for part in name.split("."):
        found = getattr(found, part)
    return found(*request["args"], **request["kwargs"])


def plain(value: object) -> object:
    """A copy in plain JSON types: exactly those, no subclass; a tuple counts as a list."""
    if value is None or type(value) in (bool, int, str):
        return value
    if type(value) is float:
        if value != value or value in (float("inf"), float("-inf")):
            raise NotJson(f"{value!r} is no JSON number")
        return value
    if type(value) in (list, tuple):
        return [plain(item) for item in value]  # type: ignore[attr-defined]
    if type(value) is dict:
        for key in value:
            if type(key) is not str:
                raise NotJson(f"a key of type {type(key).__name__} is no JSON name")
        return {key: plain(item) for key, item in value.items()}
    raise NotJson(f"a value of type {type(value).__name__} is no JSON value")


class NotJson(Exception):
    """The code under test gave something that JSON does not have."""


def describe(error: BaseException) -> dict[str, Any]:
    try:
        message = str(error)[:MAX_MESSAGE]
    except BaseException:
        message = ""
    bases = [base.__name__ for base in type(error).__mro__ if base is not object]
    return {"type": type(error).__name__, "bases": bases, "message": message}


if __name__ == "__main__":
    main()
