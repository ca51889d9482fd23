"""The task policy where there is no task bundle: a kind's defaults, or those of daily use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from harness_adapters.errors import BadInput, did_you_mean
from harness_adapters.plugins import Plugins, canonical
from harness_adapters.types import Task, TaskMetadata, TaskPolicy

# Kinds whose plugin may not be installed: the agent's own tests are part of the work.
_DEFAULTS = {"build": TaskPolicy(editable=("**",)), "extend": TaskPolicy(editable=("**",))}
_ADDED = ("protected",)  # a task's own list adds to its kind's
FIELDS = tuple(field.name for field in fields(TaskPolicy))


def kind_policy(plugins: Plugins, kind: str | None) -> TaskPolicy:
    """What a task of this kind that says nothing itself allows; ``None`` for daily use, in which
    nothing of the workspace is protected.

    :raises BadInput: there is no such kind.
    """
    if kind is None:
        return TaskPolicy()
    name = canonical(kind)
    if name in plugins.tasks.components:
        task = Task(
            id="none",
            instruction="",
            path=Path(),
            metadata=TaskMetadata(kind=name, cluster="none"),
        )
        return plugins.tasks.create(name).policy(task)
    if name in _DEFAULTS:
        return _DEFAULTS[name]
    raise BadInput(f"no task kind {kind!r}{did_you_mean(name, _known(plugins))}")


def lenient_policy(plugins: Plugins, kind: str | None) -> TaskPolicy:
    """``kind_policy``, and daily use for a kind that is not known."""
    return kind_policy(plugins, kind if kind and is_kind(plugins, kind) else None)


def is_kind(plugins: Plugins, kind: str) -> bool:
    """Whether ``kind_policy`` knows it."""
    return canonical(kind) in _known(plugins)


def _known(plugins: Plugins) -> list[str]:
    return [*plugins.tasks.components, *_DEFAULTS]


def with_own(policy: TaskPolicy, own: Mapping[str, Any], *, workdir: str = "") -> TaskPolicy:
    """A kind's policy with what one task says itself.

    :param own: fields of ``TaskPolicy``; others are left out of account.
    :param workdir: where ``own`` does not say.
    :raises BadInput: a field is no list of texts, or the folder is not absolute.
    """
    changes: dict[str, Any] = {"workdir": workdir} if workdir else {}
    for name in FIELDS:
        value = own.get(name)
        if value is None:
            continue
        if name == "workdir":
            if not isinstance(value, str) or not value.startswith("/"):
                raise BadInput("policy.workdir must be an absolute path")
            changes[name] = value
            continue
        if not isinstance(value, Sequence) or isinstance(value, str):
            raise BadInput(f"policy.{name} must be a list")
        if not all(isinstance(one, str) for one in value):
            raise BadInput(f"policy.{name} must be a list of texts")
        given = tuple(value)
        changes[name] = (*getattr(policy, name), *given) if name in _ADDED else given
    return replace(policy, **changes)
