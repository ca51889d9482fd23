"""The live view keeps everything on this machine."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.timeout(900)]

SCRIPT = """
import trackio
from trackio.sqlite_storage import SQLiteStorage
from harness_adapters.train.live_view import show_blocked

trackio.init(project="p", name="r", embed=False)
call = {"task_id": "t0", "attempt": 3, "tool": "bash", "rules": ["tamper.tests", "x.y"]}
show_blocked(2, [call])
trackio.finish()
print(SQLiteStorage.get_logs("p", "r"))
"""


def test_blocked_calls_are_listed(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", SCRIPT],
        env={**os.environ, "TRACKIO_DIR": str(tmp_path), "HF_HUB_OFFLINE": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert "guard/blocked_calls" in done.stdout
    assert "tamper.tests, x.y" in done.stdout
    assert list(tmp_path.glob("p*.db"))
