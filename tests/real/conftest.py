"""Real pi, real sandbox, real engine process: what users run."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from command import HA, Done, Ha


@pytest.fixture
def ha(tmp_path: Path) -> Ha:
    """Run the command as a person would, in an empty folder."""

    def run(*arguments: str | Path, env: dict[str, str] | None = None) -> Done:
        done = subprocess.run(
            [*HA, *map(str, arguments)],
            cwd=tmp_path,
            env={**os.environ, **(env or {})},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )
        return Done(done.returncode, done.stdout, done.stderr)

    return run
