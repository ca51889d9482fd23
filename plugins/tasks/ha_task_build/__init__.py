"""Build what a contract asks for; the score is the share of hidden tests that pass."""

from __future__ import annotations

from harness_adapters import Options, Register, TaskKind, hookimpl

ha_api_version = 1


@hookimpl
def ha_register_tasks(register: Register[TaskKind]) -> None:
    register(
        "build",
        _create,
        summary="Build what a contract asks for; hidden tests decide.",
    )


def _create(options: Options) -> TaskKind:
    from ha_task_build.kind import Build

    return Build(options)
