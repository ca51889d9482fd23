"""Block fetching the session that a task was made from."""

from __future__ import annotations

from harness_adapters import GuardRule, Options, Register, hookimpl

ha_api_version = 1


@hookimpl
def ha_register_guards(register: Register[GuardRule]) -> None:
    register(
        "traj2envs",
        _create,
        summary="Block fetching the session that a task was made from.",
    )


def _create(options: Options) -> GuardRule:
    from ha_guard_traj2envs.rule import Traj2Envs

    return Traj2Envs(options)
