"""Form: what a bundle of ours must say. Foreign ones are as they are."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from harness_adapters.tasks.contents import read_text
from harness_adapters.tasks.task_toml import MAX_BYTES
from harness_adapters.types import Task

_UNPINNED = re.compile(r"^\s*FROM\s+(?:--\S+\s+)*(?P<image>[^\s@]+)\s*(?:AS\s+\S+)?$", re.I | re.M)


def lint(task: Task) -> Iterator[tuple[str, str]]:
    """Faults of form as (place, what is wrong)."""
    if not (task.path / "tests" / "test.sh").is_file():
        yield "tests/test.sh", "is missing: Harbor runs it"
    if task.self_graded:
        return
    toml = _toml(task.path)
    if toml.get("environment", {}).get("allow_internet") is not False:
        yield "task.toml", "[environment] allow_internet is not false"
    if toml.get("verifier", {}).get("environment_mode") != "separate":
        yield "task.toml", '[verifier] environment_mode is not "separate"'
    dockerfile = task.path / "environment" / "Dockerfile"
    if dockerfile.is_file():
        for found in _UNPINNED.finditer(read_text(dockerfile, max_bytes=MAX_BYTES)):
            _, _, tag = found["image"].rpartition("/")[2].partition(":")
            if tag in ("", "latest") and found["image"] != "scratch":
                yield "environment/Dockerfile", f"the image {found['image']} is not pinned"


def _toml(path: Path) -> dict[str, Any]:
    return tomllib.loads(read_text(path / "task.toml", max_bytes=MAX_BYTES))
