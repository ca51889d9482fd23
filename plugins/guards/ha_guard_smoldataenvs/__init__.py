"""Block fetching the answer of a SmolDataEnvs question."""

from __future__ import annotations

from harness_adapters import GuardRule, Options, Register, hookimpl

ha_api_version = 1


@hookimpl
def ha_register_guards(register: Register[GuardRule]) -> None:
    register(
        "smoldataenvs",
        _create,
        summary="Block fetching the answer of a SmolDataEnvs question.",
    )


def _create(options: Options) -> GuardRule:
    from ha_guard_smoldataenvs.rule import SmolDataEnvs

    return SmolDataEnvs(options)
