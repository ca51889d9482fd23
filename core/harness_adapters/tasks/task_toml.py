"""``task.toml``: the tables we read, checked; other Harbor tables are tolerated."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from harness_adapters.errors import BrokenTask, did_you_mean
from harness_adapters.tasks.contents import read_text

MAX_BYTES = 256 * 1024
OURS = "harness_adapters"

Seconds = Annotated[float, Field(gt=0, le=86_400, allow_inf_nan=False)]
Strings = tuple[str, ...]


class _Foreign(BaseModel):
    """A table of Harbor's: the fields that we use; others are somebody else's."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class AgentTable(_Foreign):
    timeout_sec: Seconds | None = None


class VerifierTable(_Foreign):
    timeout_sec: Seconds | None = None


class EnvironmentTable(_Foreign):
    workdir: str = ""
    docker_image: str = ""


class OurTable(BaseModel):
    """``[metadata.harness_adapters]``. ``options`` is the kind's own table, of the kind's name."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: Annotated[str, Field(min_length=1, pattern=r"^[A-Za-z0-9_-]+$")]
    cluster: Annotated[str, Field(min_length=1)]
    split: Literal["train", "dev", "test"] = "train"
    editable: Strings = ()
    protected: Strings = ()
    allowed_hosts: Strings = ()
    answer_sources: Strings = ()
    difficulty: str = ""
    provenance: str = ""


class TaskToml(_Foreign):
    """A checked ``task.toml``.

    :param ours: ``None`` in a task that was not made for us.
    :param options: ``[metadata.harness_adapters.<kind>]``.
    """

    agent: AgentTable = AgentTable()
    verifier: VerifierTable = VerifierTable()
    environment: EnvironmentTable = EnvironmentTable()
    steps: list[Any] = []
    metadata: dict[str, Any] = {}
    ours: OurTable | None = None
    options: dict[str, Any] = {}


def read_task_toml(path: Path) -> TaskToml:
    """Read and check one file.

    :raises BrokenTask: it is no TOML, or a field that we use is wrong; names file and field, and
        near matches for an unknown field of ours.
    """
    try:
        raw = tomllib.loads(read_text(path, max_bytes=MAX_BYTES))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise BrokenTask(f"{path}: not valid TOML: {error or 'nested too deep'}") from None
    raw.pop("ours", None)
    raw.pop("options", None)
    try:
        toml = TaskToml.model_validate(raw)
    except ValidationError as error:
        raise BrokenTask(f"{path}: {explain(error)}") from None
    if OURS not in toml.metadata:
        return toml
    ours, options = _ours(path, toml.metadata[OURS])
    return toml.model_copy(update={"ours": ours, "options": options})


def explain(error: ValidationError, *, table: str = "", known: Iterable[str] = ()) -> str:
    """One fault as one line: ``[table] field: what is wrong``. An unknown field comes first, with
    a near match, since it often explains why another one is missing."""
    faults = error.errors(include_url=False, include_context=False)
    first = next((fault for fault in faults if fault["type"] == "extra_forbidden"), faults[0])
    *tables, field = [str(part) for part in first["loc"]] or [""]
    where = ".".join([table, *tables] if table else tables)
    prefix = f"[{where}] " if where else ""
    if first["type"] == "extra_forbidden":
        return f"{prefix}unknown field {field!r}{did_you_mean(field, known)}"
    message = "must be a table" if first["type"] == "model_type" else first["msg"]
    return f"{prefix}{field}: {message}"


def _ours(path: Path, table: object) -> tuple[OurTable, dict[str, Any]]:
    name = f"metadata.{OURS}"
    if not isinstance(table, Mapping):
        raise BrokenTask(f"{path}: [metadata] {OURS}: must be a table")
    fields = dict(table)
    kind = fields.get("kind")
    if isinstance(kind, str):
        options = fields.pop(kind, {}) if kind != "kind" else {}
    else:  # no table can be told to be of the kind; what is wrong is the kind
        fields, options = {n: v for n, v in fields.items() if not isinstance(v, dict)}, {}
    if not isinstance(options, dict):
        raise BrokenTask(f"{path}: [{name}] {kind}: must be a table")
    try:
        return OurTable.model_validate(fields), options
    except ValidationError as error:
        known = [*OurTable.model_fields, *([kind] if isinstance(kind, str) else [])]
        raise BrokenTask(f"{path}: {explain(error, table=name, known=known)}") from None
