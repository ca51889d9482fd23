"""The contract kit, with the real Claude Code. The first run downloads it from npm."""

from __future__ import annotations

from harness_adapters.testing import HarnessDriverContract, PluginContract


class TestPlugin(PluginContract):
    name = "claudecode"


class TestDriver(HarnessDriverContract):
    name = "claudecode"
    own_log = "session-*.jsonl"
