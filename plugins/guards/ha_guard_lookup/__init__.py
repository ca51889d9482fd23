"""Block looking up the answer instead of working it out."""

from __future__ import annotations

from harness_adapters import GuardRule, Options, Register, hookimpl

ha_api_version = 1


@hookimpl
def ha_register_guards(register: Register[GuardRule]) -> None:
    register(
        "lookup",
        _create,
        summary="Block looking up the answer instead of working it out.",
    )


def _create(options: Options) -> GuardRule:
    from ha_guard_lookup.rule import Lookup

    return Lookup(options)
