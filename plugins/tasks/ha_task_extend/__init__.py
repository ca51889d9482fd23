"""Add a feature; the score is the share of new hidden tests that pass, with all old ones."""

from __future__ import annotations

from harness_adapters import Options, Register, TaskKind, hookimpl

ha_api_version = 1


@hookimpl
def ha_register_tasks(register: Register[TaskKind]) -> None:
    register(
        "extend",
        _create,
        summary="Add a feature; new and old hidden tests decide.",
    )


def _create(options: Options) -> TaskKind:
    from ha_task_extend.kind import Extend

    return Extend(options)
