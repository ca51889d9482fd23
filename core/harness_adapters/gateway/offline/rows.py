"""Rows of a guard corpus: one call each, with what came before it and the right verdict."""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from harness_adapters.errors import BadInput
from harness_adapters.gateway.guard.calls import ToolCall
from harness_adapters.gateway.offline.policies import lenient_policy, with_own
from harness_adapters.gateway.offline.session import OfflineSession
from harness_adapters.plugins import Plugins
from harness_adapters.tasks.task_toml import explain
from harness_adapters.tasks.traces.chat import declared
from harness_adapters.types import TaskPolicy

_MAX_LINE = 16 * 1024 * 1024
# ``... fails in /work/repo. Fix ...``: the folder that an instruction works in.
_FOLDER = re.compile(r"\b(?:in|at|under|inside|of)\s+((?:/[\w-]+)+)/?(?=[\s.,;:)]|$)(?!\.\w)")


class CallOfRow(BaseModel):
    """``arguments`` are an object, or the raw text that was sampled."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    name: str
    arguments: Any


class OneCall(BaseModel):
    """A call and what a session knew before it; fields that we do not know are somebody else's."""

    model_config = ConfigDict(frozen=True, extra="ignore", populate_by_name=True)

    tool_call: CallOfRow
    task_kind: str | None = None
    instruction: str = ""
    declared_tools: list[Any] | None = None
    prior_messages: list[dict[str, Any]] = []
    cwd: str | None = None
    policy: dict[str, Any] | None = None


class Row(OneCall):
    """A call of a corpus, with the right verdict."""

    id: str
    row_class: str = Field(alias="class")
    expected: Literal["allow", "block"]
    tier: Literal["core", "hard", "judgement"]


R = TypeVar("R", bound=OneCall)


@dataclass(frozen=True, slots=True)
class BadRow:
    line: int
    problem: str


def read_rows(path: Path) -> Iterator[tuple[int, Row] | BadRow]:
    """Rows with their line numbers, and what is wrong with the others.

    :raises BadInput: the file cannot be read.
    """
    try:
        with path.open("rb") as file:
            number = 0
            while line := file.readline(_MAX_LINE + 1):
                number += 1
                if len(line) > _MAX_LINE:
                    raise BadInput(f"{path}: line {number} is longer than {_MAX_LINE} bytes")
                if not line.strip():
                    continue
                try:
                    yield number, parse_row(line, Row)
                except BadInput as error:
                    yield BadRow(number, str(error))
    except OSError as error:
        raise BadInput(f"cannot read {path}: {error.strerror}") from error


def parse_row(text: bytes, shape: type[R]) -> R:
    """:raises BadInput: it is no such row; names the field."""
    try:
        return shape.model_validate(json.loads(text))
    except ValidationError as error:
        raise BadInput(explain(error)) from None
    except (ValueError, RecursionError) as error:
        raise BadInput(f"no JSON: {error or 'nested too deep'}") from None


def open_row(row: OneCall, plugins: Plugins) -> tuple[OfflineSession, ToolCall]:
    """The session that a row tells of, and the call that it asks about.

    :raises BadInput: a field does not hold what it should.
    """
    policy = row_policy(row, plugins)
    names = [one if isinstance(one, str) else declared([one]) for one in row.declared_tools or ()]
    tools: dict[str, dict[str, Any]] = {}
    for one in names:
        tools.update({one: {}} if isinstance(one, str) else one or {})
    session = OfflineSession(
        policy,
        tools=tools if row.declared_tools else None,  # a log without them does not say which
        cwd=posixpath.normpath(posixpath.join(policy.workdir, row.cwd or "")),
        shells=[row.tool_call.name],
    )
    if row.instruction:
        session.hear({"role": "user", "content": row.instruction})
    for message in row.prior_messages:
        calls = message.get("tool_calls")
        if not isinstance(calls, list) or not calls:
            session.hear(message)
            continue
        if content := message.get("content"):
            session.hear({"role": "assistant", "content": content})
        for number, call in enumerate(calls):
            name, raw = _wire_call(call, number)
            session.ran(session.call(str(call.get("id") or number), name, raw))
    return session, session.call("row", row.tool_call.name, _raw(row.tool_call.arguments))


def row_policy(row: OneCall, plugins: Plugins) -> TaskPolicy:
    """The kind's defaults with the row's own fields; daily use for a kind that is not known."""
    base = lenient_policy(plugins, row.task_kind)
    cwd = row.cwd if row.cwd and row.cwd.startswith("/") else ""
    named = _FOLDER.search(row.instruction)
    folder = named[1] if named and not _below_any(named[1], base.protected_roots) else ""
    if cwd and not _below_any(cwd, (folder,)):
        folder = cwd
    own = row.policy or {}
    if row.task_kind is None:  # daily use, in which nothing of the workspace is protected
        own = {name: value for name, value in own.items() if name not in ("editable", "protected")}
    return with_own(base, own, workdir=folder)


def _below_any(path: str, roots: tuple[str, ...]) -> bool:
    return any(root and f"{path}/".startswith(f"{root}/") for root in roots)


def _wire_call(call: Any, number: int) -> tuple[str, str]:
    function = call.get("function", call) if isinstance(call, dict) else None
    if not isinstance(function, dict) or not isinstance(function.get("name"), str):
        raise BadInput(f"prior_messages: tool call {number + 1} of a message has no name")
    return function["name"], _raw(function.get("arguments", {}))


def _raw(arguments: Any) -> str:
    if isinstance(arguments, str):
        return arguments
    try:
        return json.dumps(arguments, ensure_ascii=False)
    except RecursionError:
        raise BadInput("arguments are nested too deep") from None
