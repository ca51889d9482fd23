"""Block reaching for secrets that the task did not hand out."""

from __future__ import annotations

from harness_adapters import GuardRule, Options, Register, hookimpl

ha_api_version = 1


@hookimpl
def ha_register_guards(register: Register[GuardRule]) -> None:
    register(
        "credentials",
        _create,
        summary="Block reaching for secrets that the task did not hand out.",
    )


def _create(options: Options) -> GuardRule:
    from ha_guard_credentials.rule import Credentials

    return Credentials(options)
