"""The contract kit, with the real mini-swe-agent. The first run downloads it from PyPI."""

from __future__ import annotations

from harness_adapters.testing import HarnessDriverContract, PluginContract, Run


class TestPlugin(PluginContract):
    name = "mini-swe-agent"


class TestDriver(HarnessDriverContract):
    name = "mini_swe_agent"
    own_log = "trajectory.json"
    finish = Run("echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT")
    hang_seconds = 15.0
