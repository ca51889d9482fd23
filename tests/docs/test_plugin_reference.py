"""docs/plugin-reference.md is made from the code: this keeps the two together."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_page_says_what_the_code_says() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "scripts" / "plugin_docs", "--check"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_hook_and_contract_is_in_it() -> None:
    from harness_adapters import hookspecs, testing

    page = (ROOT / "docs" / "plugin-reference.md").read_text()
    hooks = [name for name in vars(hookspecs) if name.startswith("ha_")]
    contracts = [name for name in testing.__all__ if name.endswith("Contract")]
    assert len(hooks) == 5 and len(contracts) == 5
    for name in (*hooks, *contracts):
        assert f"### `{name}" in page, name
