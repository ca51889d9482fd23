"""The configuration that one session's hermes finds, and the command line it is started with."""

from __future__ import annotations

from typing import Any

import orjson

from harness_adapters import Endpoint, FileEntry, Limits, Sampling
from harness_adapters.harness.headless import HOME

HERMES_HOME = f"{HOME}/.hermes"
CONFIG_FILE = "config.yaml"
USAGE_FILE = f"{HERMES_HOME}/usage.json"
EXPORT_FILE = f"{HERMES_HOME}/export.jsonl"
PYTHON = "/opt/ha/bin/python3"
SITE = "/opt/ha/hermes"

PROVIDER = "ha"
TOOLSETS = "terminal,file"

# It refuses less than 64,000. Compression is off, and a model server refuses what is too long, so
# no true figure is needed.
_CONTEXT_LENGTH = 1_048_576
# Past its own limit it would ask for a summary, without tools; the gateway's limit comes first.
_MORE_TURNS = 100

# The folder comes first, so that nothing else that is installed is imported. The instruction comes
# through standard input: an argument is limited in length, and may look like an option.
_START = """\
import sys
sys.path.insert(0, sys.argv[1])
task = sys.stdin.buffer.read().decode()
sys.argv = ["hermes", *sys.argv[2:], *(["--oneshot=" + task] if task else [])]
from hermes_cli.main import main
sys.exit(main())
"""


def config_file(endpoint: Endpoint, sampling: Sampling, limits: Limits) -> FileEntry:
    provider = {
        "name": PROVIDER,
        "base_url": f"{endpoint.base_url}/v1",
        "api_key": endpoint.api_key,
        "api_mode": "chat_completions",
        "extra_body": {"temperature": sampling.temperature, "top_p": sampling.top_p},
    }
    config: dict[str, Any] = {
        "model": {
            "provider": f"custom:{PROVIDER}",
            "default": endpoint.model,
            "context_length": _CONTEXT_LENGTH,
            "max_tokens": limits.max_output_tokens,
        },
        "custom_providers": [provider],
        "agent": {
            "max_turns": limits.max_requests + _MORE_TURNS,
            "environment_probe": False,  # its finding, in the prompt, depends on the machine
            "verify_on_stop": False,  # off for new users too; it adds user messages of its own
        },
        "compression": {"enabled": False},
        "memory": {"memory_enabled": False, "user_profile_enabled": False},
        # Whatever would install or fetch something.
        "lsp": {"enabled": False},
        "model_catalog": {"enabled": False},
        "security": {"tirith_enabled": False, "allow_lazy_installs": False},
    }
    return FileEntry(content=orjson.dumps(config), mode=0o600)  # JSON is YAML


def command(python: str, site: str, *arguments: str) -> list[str]:
    """:param python: the interpreter and ``site`` hermes's folder, as seen inside."""
    return [python, "-I", "-S", "-B", "-c", _START, site, *arguments]
