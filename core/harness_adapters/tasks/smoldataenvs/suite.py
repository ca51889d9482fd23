"""The layout of a suite: ``registry.json``, ``manifest.parquet``, ``tasks/<id>/``. All but
instruction and gold answer may be missing."""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness_adapters.errors import BadInput, BrokenTask
from harness_adapters.tasks.bundle import MAX_INSTRUCTION_BYTES, file_key
from harness_adapters.tasks.contents import read_text
from harness_adapters.tasks.task_toml import MAX_BYTES

MAX_REGISTRY_BYTES = 64 * 1024 * 1024
DEFAULT_SECONDS, MAX_SECONDS = 900.0, 86_400.0
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,99}")
_SPLITS = {"train": "train", "eval": "dev", "dev": "dev", "validation": "dev", "test": "test"}


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteTask:
    """One task as the suite has it.

    :param gold: the right answer, as text.
    :param source: what tasks about the same data share.
    :param bucket: where the input files are, ``owner/name``; empty where nothing says so.
    :param prefix: folder in the bucket.
    """

    name: str
    instruction: str
    gold: str
    source: str
    difficulty: str
    bucket: str
    prefix: str
    seconds: float


def is_suite(root: Path) -> bool:
    """Whether a task there comes with its gold answer, as only these suites do."""
    manifest = _manifest(root)
    for name, folder in _folders(root).items():
        with suppress(BrokenTask):  # it is told when the tasks are read
            if _golds(_toml(folder), manifest.get(name, {})):
                return True
    return False


def read_suite(root: Path) -> tuple[list[SuiteTask], list[BrokenTask]]:
    """Every task of a suite in the order of its names, and those that cannot be used.

    :raises BadInput: the folder holds no suite.
    """
    manifest = _manifest(root)
    found: list[SuiteTask] = []
    broken: list[BrokenTask] = []
    folders = _folders(root)
    if not folders:
        raise BadInput(f"{root}: no suite in it (neither a registry.json nor a tasks/ folder)")
    named: dict[str, str] = {}
    for name, folder in sorted(folders.items()):
        try:
            if (twin := named.setdefault(file_key(name), name)) != name:
                raise BrokenTask(f"{folder}: its name is too like {twin!r}")
            found.append(_read(name, folder, manifest.get(name, {})))
        except BrokenTask as error:
            broken.append(error)
    return found, broken


def split_of(name: str) -> str:
    """The split that a suite's name says, ``train`` where it says none."""
    words = re.split(r"[^a-z]+", name.casefold())
    return next((_SPLITS[word] for word in reversed(words) if word in _SPLITS), "train")


def _folders(root: Path) -> dict[str, Path]:
    found: dict[str, Path] = {}
    registry = root / "registry.json"
    if registry.is_file():
        try:
            suites = json.loads(read_text(registry, max_bytes=MAX_REGISTRY_BYTES))
        except (ValueError, RecursionError) as error:
            raise BadInput(f"{registry}: no JSON: {error}") from None
        for suite in suites if isinstance(suites, list) else [suites]:
            listed = suite.get("tasks") if isinstance(suite, Mapping) else None
            for task in listed if isinstance(listed, list) else []:
                name, path = (_string(_table(task).get(key)) for key in ("name", "path"))
                if path and not path.startswith("/") and ".." not in path.split("/"):
                    found[name or Path(path).name] = root / path
    tasks = root / "tasks"
    if tasks.is_dir():
        known = {os.fspath(folder) for folder in found.values()}
        for folder in tasks.iterdir():
            if (folder / "task.toml").is_file() and os.fspath(folder) not in known:
                found[folder.name] = folder
    return found


def _read(name: str, folder: Path, row: Mapping[str, Any]) -> SuiteTask:
    path = folder / "task.toml"
    if not _NAME.fullmatch(name):
        raise BrokenTask(f"{folder}: {name!r} is no name of a task")
    toml = _toml(folder)
    metadata, seen = _table(toml, "metadata"), _table(toml, "environment", "env")
    gold = _golds(toml, row)
    if not gold:
        raise BrokenTask(f"{path}: no gold answer ([metadata] gold_answer, EXPECTED_ANSWER)")
    if len(gold) > 1:
        raise BrokenTask(f"{path}: two different gold answers, {' and '.join(sorted(gold))}")
    instruction = read_text(folder / "instruction.md", max_bytes=MAX_INSTRUCTION_BYTES)
    if not instruction.strip():
        raise BrokenTask(f"{folder / 'instruction.md'}: it is empty")
    source = metadata.get("kaggle_dataset_name") or row.get("kaggle_dataset_name") or name
    return SuiteTask(
        name=name,
        instruction=instruction,
        gold=next(iter(gold)),
        source=_text(source),
        difficulty=_text(metadata.get("difficulty_tier", row.get("difficulty_tier", ""))),
        bucket=_literal(seen.get("HF_BUCKET")),
        prefix=_literal(seen.get("BUCKET_PREFIX")),
        seconds=_seconds(_table(toml, "agent").get("timeout_sec")),
    )


def _toml(folder: Path) -> Mapping[str, Any]:
    path = folder / "task.toml"
    try:
        return tomllib.loads(read_text(path, max_bytes=MAX_BYTES))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise BrokenTask(f"{path}: not valid TOML: {error}") from None


def _golds(toml: Mapping[str, Any], row: Mapping[str, Any]) -> set[str]:
    metadata, graded = _table(toml, "metadata"), _table(toml, "verifier", "env")
    golds = [metadata.get("gold_answer"), graded.get("EXPECTED_ANSWER"), row.get("gold_answer")]
    return {_text(one) for one in golds if one is not None and _text(one)}


def _manifest(root: Path) -> dict[str, Mapping[str, Any]]:
    """Rows of ``manifest.parquet`` by the name of their task, where there is one."""
    path = root / "manifest.parquet"
    if not path.is_file():
        return {}
    import pyarrow
    import pyarrow.parquet

    try:
        rows = pyarrow.parquet.read_table(path).to_pylist()
    except (pyarrow.ArrowException, OSError) as error:
        raise BadInput(f"{path}: cannot be read: {error}") from None
    keys = ("name", "task_name", "task_id", "id")
    return {
        _text(row[key]).rpartition("/")[2]: row
        for row in rows
        for key in keys
        if row.get(key) is not None
    }


def _table(toml: object, *names: str) -> Mapping[str, Any]:
    found: Any = toml
    for name in names:
        found = found.get(name) if isinstance(found, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def _seconds(value: object) -> float:
    if not isinstance(value, int | float) or value != value:
        return DEFAULT_SECONDS
    return float(min(max(value, 1), MAX_SECONDS))


def _text(value: object) -> str:
    return str(value).strip()


def _literal(value: object) -> str:
    """A value that is written there, not one to be filled in (``${NAME}``)."""
    text = _string(value)
    return "" if "$" in text else text


def _string(value: object) -> str:
    return value.strip() if isinstance(value, str) else ""
