"""Drive the Codex CLI."""

from __future__ import annotations

from harness_adapters import HarnessDriver, Options, Register, hookimpl

ha_api_version = 1


@hookimpl
def ha_register_harnesses(register: Register[HarnessDriver]) -> None:
    register("codex", _create, summary="Drive the Codex CLI.")


def _create(options: Options) -> HarnessDriver:
    from ha_harness_codex.driver import CodexDriver

    return CodexDriver(options)
