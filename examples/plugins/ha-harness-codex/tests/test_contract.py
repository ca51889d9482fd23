"""The contract kit, with the real Codex. The first run downloads it from npm."""

from __future__ import annotations

from harness_adapters.testing import HarnessDriverContract, PluginContract


class TestPlugin(PluginContract):
    name = "codex"


class TestDriver(HarnessDriverContract):
    name = "codex"
    own_log = "session-*.jsonl"
