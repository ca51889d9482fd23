"""Running ``ha`` as a person would."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
TASKS = ROOT / "examples" / "tasks"
HA = [sys.executable, "-c", "from harness_adapters.cli import main; main()"]


@dataclass(frozen=True)
class Done:
    code: int
    stdout: str
    stderr: str

    @property
    def json(self) -> dict[str, Any]:
        """The last line of stdout, as a program would read it."""
        value = json.loads(self.stdout.splitlines()[-1])
        assert isinstance(value, dict)
        return value


Ha = Callable[..., Done]
