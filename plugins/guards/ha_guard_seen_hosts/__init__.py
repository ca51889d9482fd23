"""Block connections to hosts that the session was never told of."""

from __future__ import annotations

from harness_adapters import GuardRule, Options, Register, hookimpl

ha_api_version = 1


@hookimpl
def ha_register_guards(register: Register[GuardRule]) -> None:
    register(
        "seen_hosts",
        _create,
        summary="Block connections to hosts that the session was never told of.",
    )


def _create(options: Options) -> GuardRule:
    from ha_guard_seen_hosts.rule import SeenHosts

    return SeenHosts(options)
