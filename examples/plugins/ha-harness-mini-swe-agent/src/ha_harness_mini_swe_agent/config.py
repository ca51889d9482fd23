"""The configuration and environment of one session's mini-swe-agent."""

from __future__ import annotations

import json

from harness_adapters import Endpoint, FileEntry, Limits, Sampling
from harness_adapters.harness.headless import HOME

FOLDER = f"{HOME}/.mini-swe-agent"
CONFIG_FILE = "session.yaml"
LOG_FILE = f"{FOLDER}/trajectory.json"

START = """\
import sys
site, config, log = sys.argv[1:]
sys.path.insert(0, site)
task = sys.stdin.buffer.read().decode()
sys.argv = ["mini", "--yolo", "--exit-immediately", "--agent-class=default",
            "--config=mini.yaml", "--config=" + config, "--output=" + log, "--task=" + task]
from minisweagent.run.mini import app
app()
"""
"""The program, for an isolated Python: the package's folder comes first on the path, and the
instruction through standard input, since an argument is limited in length."""


def config_file(endpoint: Endpoint, sampling: Sampling, limits: Limits) -> FileEntry:
    """What is laid over its own ``mini.yaml``."""
    config = {
        "agent": {
            "cost_limit": 0,  # the session's own limits hold
            "step_limit": 0,
            # It would ask again without what the model said, so that the conversation no longer
            # only grows. With one, a reply without a call ends it, as it ends other harnesses.
            "max_consecutive_format_errors": 1,
        },
        "model": {
            "model_name": f"openai/{endpoint.model}",
            "cost_tracking": "ignore_errors",
            "model_kwargs": {
                "temperature": sampling.temperature,
                "top_p": sampling.top_p,
                "max_tokens": limits.max_output_tokens,
                "max_retries": 0,  # it tries again by itself
            },
        },
    }
    return FileEntry(content=json.dumps(config).encode())  # JSON is YAML


def environment(endpoint: Endpoint, folder: str) -> dict[str, str]:
    """:param folder: ``FOLDER`` as seen inside the sandbox."""
    return {
        "OPENAI_API_BASE": f"{endpoint.base_url}/v1",
        "OPENAI_BASE_URL": f"{endpoint.base_url}/v1",
        "OPENAI_API_KEY": endpoint.api_key,
        "MSWEA_CONFIGURED": "true",
        "MSWEA_SILENT_STARTUP": "1",
        "MSWEA_GLOBAL_CONFIG_DIR": folder,
        "MSWEA_MODEL_RETRY_STOP_AFTER_ATTEMPT": "3",
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",  # or it fetches one
    }
