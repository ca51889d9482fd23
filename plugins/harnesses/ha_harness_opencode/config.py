"""The configuration that one session's opencode finds, and its environment."""

from __future__ import annotations

from typing import Any

import orjson

from harness_adapters import Endpoint, FileEntry, Limits, Sampling
from harness_adapters.harness.events import MIB
from harness_adapters.harness.headless import HOME

CONFIG_DIR = f"{HOME}/.config/opencode"
CONFIG_FILE = "opencode.json"
PROVIDER = "ha"  # one named `openai` would be spoken to in another dialect

# Compaction is off, and a model server refuses what is too long: no true figure is needed here.
_CONTEXT_WINDOW = 1_048_576

_DENIED = (
    "task",  # a second agent, whose turns are no part of this conversation
    "question",  # nobody is there to answer
    "webfetch",
    "websearch",
)

ENVIRONMENT = {
    "OPENCODE_DISABLE_MODELS_FETCH": "1",
    "OPENCODE_DISABLE_AUTOUPDATE": "1",
    "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
    "OPENCODE_DISABLE_SHARE": "1",
    "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1",
    "OPENCODE_DISABLE_EXTERNAL_SKILLS": "1",
    "OPENCODE_DISABLE_CLAUDE_CODE": "1",
    # A workspace's own opencode.json could name another model or provider, or start programs.
    "OPENCODE_DISABLE_PROJECT_CONFIG": "1",
    # Its runtime reserves gigabytes that it never uses, which a sandbox counts as memory: without
    # these it hangs at its start when a reservation is refused.
    "BUN_JSC_jitMemoryReservationSize": str(128 * MIB),
    "BUN_JSC_structureHeapSizeInKB": str(256 * 1024),
    "MIMALLOC_ARENA_RESERVE": "64MiB",
    # It would install packages of its own.
    "NPM_CONFIG_OFFLINE": "true",
    "npm_config_registry": "http://127.0.0.1:9/",
}


def config_file(
    endpoint: Endpoint, sampling: Sampling, limits: Limits, *, workdir: str
) -> FileEntry:
    """
    :param workdir: where programs in the sandbox see the workspace.
    """
    model = {
        "name": endpoint.model,
        "tool_call": True,
        "temperature": True,
        "limit": {"context": _CONTEXT_WINDOW, "output": limits.max_output_tokens},
    }
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "name": PROVIDER,
        "options": {"baseURL": f"{endpoint.base_url}/v1", "apiKey": endpoint.api_key},
        "models": {endpoint.model: model},
    }
    config: dict[str, Any] = {
        "model": f"{PROVIDER}/{endpoint.model}",
        "small_model": f"{PROVIDER}/{endpoint.model}",
        "enabled_providers": [PROVIDER],
        "provider": {PROVIDER: provider},
        "agent": {"build": {"temperature": sampling.temperature, "top_p": sampling.top_p}},
        "permission": {"*": "allow", **dict.fromkeys(_DENIED, "deny")},
        # What it would find by itself, but for the switched off configuration of the workspace.
        "instructions": [f"{workdir}/AGENTS.md"],
        # Once the context is full it would compact and ask again without end.
        "compaction": {"auto": False, "prune": False},
        "autoupdate": False,
        "share": "disabled",
        "snapshot": False,
    }
    return FileEntry(content=orjson.dumps(config), mode=0o600)
