"""Drive the pi coding agent."""

from __future__ import annotations

from harness_adapters import HarnessDriver, Options, Register, hookimpl

ha_api_version = 1


@hookimpl
def ha_register_harnesses(register: Register[HarnessDriver]) -> None:
    register("pi", _create, summary="Drive the pi coding agent.")


def _create(options: Options) -> HarnessDriver:
    from ha_harness_pi.driver import PiDriver

    return PiDriver(options)
