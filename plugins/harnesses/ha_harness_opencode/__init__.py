"""Drive the opencode coding agent."""

from __future__ import annotations

from harness_adapters import HarnessDriver, Options, Register, hookimpl

ha_api_version = 1


@hookimpl
def ha_register_harnesses(register: Register[HarnessDriver]) -> None:
    register("opencode", _create, summary="Drive the opencode coding agent.")


def _create(options: Options) -> HarnessDriver:
    from ha_harness_opencode.driver import OpencodeDriver

    return OpencodeDriver(options)
