"""Flag what atif-scan's checks find in a call, under the task's policy."""

from __future__ import annotations

from harness_adapters import GuardRule, Options, Register, hookimpl

ha_api_version = 1


@hookimpl
def ha_register_guards(register: Register[GuardRule]) -> None:
    register(
        "atif_scan",
        _create,
        summary="Flag what atif-scan's checks find in a call, under the task's policy.",
    )


def _create(options: Options) -> GuardRule:
    from ha_guard_atif_scan.rule import AtifScan

    return AtifScan(options)
