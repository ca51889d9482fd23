"""The examples run as they stand, each in its own process."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

EXAMPLES = Path(__file__).parents[2] / "examples"


def output(script: str) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "error", EXAMPLES / script], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_compose_in_python() -> None:
    out = output("compose_in_python.py")
    assert "solved, reward 1.1" in out
    assert "one training row" in out


def test_custom_guard() -> None:
    out = output("custom_guard.py")
    assert "guard_blocked" in out
    assert "may not run here" in out
