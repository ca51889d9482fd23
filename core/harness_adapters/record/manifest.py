"""What a run was made of. Two runs compare, and a run resumes, only when these agree."""

from __future__ import annotations

import platform
import time
from dataclasses import asdict
from importlib.metadata import version
from typing import Any

from pydantic import BaseModel, ConfigDict

from harness_adapters.types import Limits, Provenance, Sampling, Task

# Facts about one invocation, not about what was measured: a resumed run may differ in them.
VOLATILE = frozenset({"created", "host", "concurrency", "broken"})
ADDRESS = frozenset({"name", "url"})  # of an engine that is named by where it answers


class Manifest(BaseModel):
    """``manifest.json``.

    :ivar engine: how the engine was named, its version and flags.
    :ivar template: hash of the engine's chat template, ``""`` where it does not say.
    :ivar policy: hash over guard rules, their versions and options.
    :ivar tasks: task id -> sha256 of its bundle, of the selected tasks.
    :ivar broken: bundles of the set that could not be read.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    schema_version: int = 1
    created: str
    host: dict[str, str]
    concurrency: int
    version: str
    components: list[dict[str, str]]
    component_options: dict[str, dict[str, Any]]
    harness: str
    harness_version: str
    engine: dict[str, Any]
    template: str
    model: str
    sampling: dict[str, Any]
    limits: dict[str, dict[str, Any]]
    attempts: int
    infra_retries: int
    sandbox: str
    sandbox_lost: list[str]
    policy: str
    tasks: dict[str, str]
    broken: int = 0

    def limits_of(self, task_id: str) -> dict[str, Any]:
        """The caps of one task, empty where the manifest states none."""
        return self.limits.get(task_id) or self.limits.get("default", {})

    def difference(self, other: Manifest) -> str | None:
        """The first field in which two manifests do not agree, with both values, or ``None``.

        A server that is named by its URL may have moved to another; what it serves may not differ.
        """
        mine, theirs = self.model_dump(), other.model_dump()
        if all(str(one["engine"].get("name")).startswith("http") for one in (mine, theirs)):
            for one in (mine, theirs):
                one["engine"] = {key: one["engine"][key] for key in one["engine"].keys() - ADDRESS}
        for name in type(self).model_fields:
            if name not in VOLATILE and mine[name] != theirs[name]:
                return _first_difference(name, mine[name], theirs[name])
        return None


def make_manifest(
    *,
    components: tuple[Provenance, ...],
    component_options: dict[str, dict[str, Any]],
    harness: str,
    harness_version: str,
    engine: dict[str, Any],
    template: str,
    model: str,
    sampling: Sampling,
    tasks: list[Task],
    attempts: int,
    infra_retries: int,
    concurrency: int,
    sandbox: str,
    sandbox_lost: tuple[str, ...],
    policy: str,
    broken: int = 0,
) -> Manifest:
    return Manifest(
        created=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        host={"python": platform.python_version(), "system": platform.platform()},
        concurrency=concurrency,
        version=version("harness-adapters"),
        components=[asdict(part) for part in components],
        component_options=component_options,
        harness=harness,
        harness_version=harness_version,
        engine=engine,
        template=template,
        model=model,
        sampling=asdict(sampling),
        limits=_limits(tasks),
        attempts=attempts,
        infra_retries=infra_retries,
        sandbox=sandbox,
        sandbox_lost=list(sandbox_lost),
        policy=policy,
        tasks={task.id: task.sha256 for task in tasks},
        broken=broken,
    )


def _limits(tasks: list[Task]) -> dict[str, dict[str, Any]]:
    """The caps under ``default``, and those of each task whose caps are others."""
    common = tasks[0].limits if tasks else Limits()
    own = {task.id: asdict(task.limits) for task in tasks if task.limits != common}
    return {"default": asdict(common), **own}


def _first_difference(name: str, mine: Any, theirs: Any) -> str:
    if isinstance(mine, dict) and isinstance(theirs, dict):
        for key in sorted(mine.keys() | theirs.keys()):
            if mine.get(key) != theirs.get(key):
                return _first_difference(f"{name}.{key}", mine.get(key), theirs.get(key))
    return f"{name}: {_short(mine)} against {_short(theirs)}"


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
