"""The configuration that one session's Codex finds."""

from __future__ import annotations

import json

from harness_adapters import Endpoint, FileEntry
from harness_adapters.harness.headless import HOME

CODEX_HOME = f"{HOME}/.codex"
KEY_VARIABLE = "HA_SESSION_KEY"
_NEVER = 1_000_000_000

_CONFIG = """\
model = {model}
model_provider = "ha"
model_context_window = {never}
model_auto_compact_token_limit = {never}
approval_policy = "never"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false
web_search = "disabled"

[analytics]
enabled = false

[model_providers.ha]
name = "ha"
base_url = {base_url}
env_key = "{key}"
wire_api = "responses"
request_max_retries = 2
stream_max_retries = 2
"""


def config_files(endpoint: Endpoint) -> dict[str, FileEntry]:
    """``$CODEX_HOME``: no compaction, since the conversation may only grow; no sandbox of its own,
    since it runs in one."""
    text = _CONFIG.format(
        model=_quoted(endpoint.model),
        base_url=_quoted(f"{endpoint.base_url}/v1"),
        key=KEY_VARIABLE,
        never=_NEVER,
    )
    return {"config.toml": FileEntry(content=text.encode(), mode=0o600)}


def _quoted(text: str) -> str:
    # TOML's basic strings know every escape that JSON writes, but for paired surrogates.
    return json.dumps(text, ensure_ascii=False)
