"""The configuration that one session's pi finds, and the command line it is started with.

Everything lies in the agent's home folder, so nothing of it shows in the workspace.
"""

from __future__ import annotations

import orjson

from harness_adapters import Endpoint, FileEntry, Limits, Sampling
from harness_adapters.harness.headless import HOME

AGENT_DIR = f"{HOME}/.pi/agent"
SESSIONS_DIR = f"{HOME}/.pi/sessions"
SAMPLING_FILE = "sampling.cjs"

PROVIDER = "ha"
# Compaction is off, and a model server refuses what is too long: pi needs no true figure here.
_CONTEXT_WINDOW = 1_048_576
# Linux takes 128 KiB in one argument; a longer instruction goes through standard input.
_ARGUMENT_BYTES = 100_000

# What JavaScript's trim() takes away; Python's strip() takes another set.
_JS_SPACE = (
    "\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000\ufeff"
)

_ENVIRONMENT = {
    "PI_OFFLINE": "1",  # no version check, no package update, no tool download
    "PI_TELEMETRY": "0",
}


def config_files(endpoint: Endpoint, sampling: Sampling, limits: Limits) -> dict[str, FileEntry]:
    """The files of pi's agent folder, by name."""
    model = {
        "id": endpoint.model,
        "reasoning": False,
        "input": ["text"],
        "contextWindow": _CONTEXT_WINDOW,
        "maxTokens": limits.max_output_tokens,
    }
    provider = {
        "baseUrl": f"{endpoint.base_url}/v1",
        "api": "openai-completions",
        "apiKey": endpoint.api_key,
        "compat": {
            "supportsDeveloperRole": False,
            "supportsReasoningEffort": False,
            "supportsStore": False,
            "maxTokensField": "max_tokens",
        },
        "models": [model],
    }
    settings = {
        "defaultProvider": PROVIDER,
        "defaultModel": endpoint.model,
        "enableInstallTelemetry": False,
        "quietStartup": True,
        "compaction": {"enabled": False},
        "retry": {"enabled": True, "maxRetries": 3, "baseDelayMs": 500},
    }
    pinned = orjson.dumps({"temperature": sampling.temperature, "top_p": sampling.top_p}).decode()
    # CommonJS, which pi's loader takes as it is.
    extension = (
        "module.exports = (pi) => {\n"
        f'  pi.on("before_provider_request", (event) => ({{ ...event.payload, ...{pinned} }}));\n'
        "};\n"
    )
    return {
        "models.json": FileEntry(
            content=orjson.dumps({"providers": {PROVIDER: provider}}), mode=0o600
        ),
        "settings.json": FileEntry(content=orjson.dumps(settings)),
        SAMPLING_FILE: FileEntry(content=extension.encode()),
    }


def environment(agent_dir: str) -> dict[str, str]:
    return _ENVIRONMENT | {"PI_CODING_AGENT_DIR": agent_dir}


def split_instruction(instruction: str) -> tuple[bytes, str]:
    """Standard input and the one argument that together make pi read exactly ``instruction``.

    pi puts standard input, trimmed, before its first argument. An argument that starts with
    ``-`` is an option to it, one that starts with ``@`` a file: such leading characters go to
    standard input, and so does all of an instruction that is too long for an argument (of such a
    one, leading white space is lost).
    """
    if len(instruction.encode(errors="replace")) > _ARGUMENT_BYTES or "\0" in instruction:
        head = instruction.rstrip(_JS_SPACE)
    else:
        head = instruction[: len(instruction) - len(instruction.lstrip("-@"))]
    return head.encode(errors="replace"), instruction[len(head) :]
