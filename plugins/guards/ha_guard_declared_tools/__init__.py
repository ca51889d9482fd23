"""Block calls of tools that the request did not declare."""

from __future__ import annotations

from harness_adapters import GuardRule, Options, Register, hookimpl

ha_api_version = 1


@hookimpl
def ha_register_guards(register: Register[GuardRule]) -> None:
    register(
        "declared_tools", _create, summary="Block calls of tools that the request did not declare."
    )


def _create(options: Options) -> GuardRule:
    from ha_guard_declared_tools.rule import DeclaredTools

    return DeclaredTools(options)
