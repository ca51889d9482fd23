"""Block calls that reach into tests, runner hooks or the verifier."""

from __future__ import annotations

from harness_adapters import GuardRule, Options, Register, hookimpl

ha_api_version = 1


@hookimpl
def ha_register_guards(register: Register[GuardRule]) -> None:
    register(
        "tamper",
        _create,
        summary="Block calls that reach into tests, runner hooks or the verifier.",
    )


def _create(options: Options) -> GuardRule:
    from ha_guard_tamper.rule import Tamper

    return Tamper(options)
