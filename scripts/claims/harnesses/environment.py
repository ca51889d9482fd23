"""An environment as a stranger has it: the wheel of harness-adapters and those of the examples."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests" / "support"))

from distributions import PLUGINS, Environment, build_wheel  # noqa: E402

BUILT_IN = ("pi", "opencode", "hermes")
FROM_WHEELS = ("claudecode", "codex", "mini-swe-agent")
HARNESSES = (*BUILT_IN, *FROM_WHEELS)


def make_environment(folder: Path) -> Environment:
    """Build all wheels and install them into a new environment; nothing is downloaded."""
    wheels = folder / "wheels"
    wheels.mkdir(parents=True)
    projects = [ROOT, *(PLUGINS / f"ha-harness-{name}" for name in FROM_WHEELS)]
    return Environment(folder / "env", [build_wheel(project, wheels) for project in projects])
