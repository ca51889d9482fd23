"""A small bonus for few tool calls, for solved rollouts only."""

from __future__ import annotations

from harness_adapters import Options, Register, RewardShaper, hookimpl

ha_api_version = 1


@hookimpl
def ha_register_rewards(register: Register[RewardShaper]) -> None:
    register(
        "tool_efficiency",
        _create,
        summary="A small bonus for few tool calls, for solved rollouts only.",
    )


def _create(options: Options) -> RewardShaper:
    from ha_reward_tool_efficiency.shaper import ToolEfficiency

    return ToolEfficiency(options)
