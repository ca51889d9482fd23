"""Find and fix a bug; hidden tests decide."""

from __future__ import annotations

from harness_adapters import Options, Register, TaskKind, hookimpl

ha_api_version = 1


@hookimpl
def ha_register_tasks(register: Register[TaskKind]) -> None:
    register("repair", _create, summary="Find and fix a bug; hidden tests decide.")


def _create(options: Options) -> TaskKind:
    from ha_task_repair.kind import Repair

    return Repair(options)
