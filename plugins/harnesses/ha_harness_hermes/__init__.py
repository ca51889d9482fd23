"""Drive the hermes agent."""

from __future__ import annotations

from harness_adapters import HarnessDriver, Options, Register, hookimpl

ha_api_version = 1


@hookimpl
def ha_register_harnesses(register: Register[HarnessDriver]) -> None:
    register("hermes", _create, summary="Drive the hermes agent.")


def _create(options: Options) -> HarnessDriver:
    from ha_harness_hermes.driver import HermesDriver

    return HermesDriver(options)
