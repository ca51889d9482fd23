"""Drive mini-swe-agent."""

from __future__ import annotations

from harness_adapters import HarnessDriver, Options, Register, hookimpl

ha_api_version = 1


@hookimpl
def ha_register_harnesses(register: Register[HarnessDriver]) -> None:
    register("mini_swe_agent", _create, summary="Drive mini-swe-agent, with its bash tool.")


def _create(options: Options) -> HarnessDriver:
    from ha_harness_mini_swe_agent.driver import MiniSweAgentDriver

    return MiniSweAgentDriver(options)
