"""Answer a question about data; the whole answer is compared with a typed tolerance."""

from __future__ import annotations

from harness_adapters import Options, Register, TaskKind, hookimpl

ha_api_version = 1


@hookimpl
def ha_register_tasks(register: Register[TaskKind]) -> None:
    register("qa", _create, summary="Answer a question about data in a file; typed tolerance.")


def _create(options: Options) -> TaskKind:
    from ha_task_qa.kind import Qa

    return Qa(options)
