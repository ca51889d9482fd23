"""Drive Claude Code."""

from __future__ import annotations

from harness_adapters import HarnessDriver, Options, Register, hookimpl

ha_api_version = 1


@hookimpl
def ha_register_harnesses(register: Register[HarnessDriver]) -> None:
    register("claudecode", _create, summary="Drive Claude Code.")


def _create(options: Options) -> HarnessDriver:
    from ha_harness_claudecode.driver import ClaudeCodeDriver

    return ClaudeCodeDriver(options)
