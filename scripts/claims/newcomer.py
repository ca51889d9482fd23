"""A newcomer writes a guard that keeps its contract, in an afternoon: what docs/write-a-guard.md
tells, done anew in a clean environment, with the wall time of each step.

pip installs the wheel of harness-adapters with all that it needs, from the package index, and then
the new guard, which no-one but its author has a source tree of.

Usage: scripts/claims/newcomer.py OUT.json
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "support"))

from distributions import build_wheel  # noqa: E402

NAME = "no-force-push"
GUIDE = ROOT / "docs" / "write-a-guard.md"
CONTRACT = """
from harness_adapters.testing import Case, GuardRuleContract, PluginContract


class TestPlugin(PluginContract):
    name = "no-force-push"


class TestComponent(GuardRuleContract):
    name = "no_force_push"
    blocked = (
        Case("bash", {"command": "git push --force"}),
        Case("bash", {"command": "git push origin +main"}),
        Case("bash", {"command": "cd sub && git -C .. push -f"}),
    )
    allowed = (
        Case("bash", {"command": "git push"}),
        Case("bash", {"command": "git commit -m 'never git push --force'"}),
    )
"""


def main() -> int:
    # Not at the top: a test reads this module without its folder on the path.
    from evidence import write_evidence

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    out: Path = parser.parse_args().out
    with tempfile.TemporaryDirectory(prefix="ha-claim-") as name:
        steps = newcomer(Path(name))
    return write_evidence(
        out,
        __file__,
        __doc__,
        holds=all(step["right"] for step in steps),
        tell={"seconds": [step["seconds"] for step in steps]},
        steps=steps,
    )


def newcomer(folder: Path) -> list[dict[str, Any]]:
    venv.create(folder / "env", with_pip=True)
    binaries = folder / "env" / "bin"
    project = folder / f"ha-guard-{NAME}"
    package = project / "src" / "ha_guard_no_force_push"
    rule, narrow = rules()
    steps: list[dict[str, Any]] = []

    def step(*words: str, code: int = 0, says: str = "") -> None:
        began = time.monotonic()
        done = subprocess.run(
            [str(binaries / words[0]), *words[1:]],
            cwd=folder,
            env={**os.environ, "COLUMNS": "100", "PYTHONPATH": ""},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )
        said = (done.stderr + done.stdout).strip().splitlines()
        steps.append(
            {
                "command": " ".join(words).replace(str(folder), "."),
                "seconds": round(time.monotonic() - began, 1),
                "code": done.returncode,
                **({"says": said[-1].strip()} if words[0] == "ha" else {}),
                "right": done.returncode == code and says in "\n".join(said),
            }
        )

    step("pip", "install", "--quiet", f"{build_wheel(ROOT, folder)}[testing]")
    step("ha", "plugin", "new", "guard", NAME, says=f"wrote {project.name}")
    step("pip", "install", "--quiet", "-e", f"./{project.name}")
    step("ha", "plugin", "check", NAME, says=" passed, 0 failed, 0 skipped")
    (package / "contract.py").write_text(CONTRACT)
    (package / "__init__.py").write_text(narrow)
    step("ha", "plugin", "check", NAME, code=1, says=" passed, 1 failed, 0 skipped")
    (package / "__init__.py").write_text(rule)
    step("ha", "plugin", "check", NAME, says=" passed, 0 failed, 0 skipped")
    return steps


def rules() -> tuple[str, str]:
    """The guide's module, and one with a rule that reads ``git push`` too narrowly."""
    found = re.search(
        r"```python\n(.*?class NoForcePush.*?\n)\n\n# To try it", GUIDE.read_text(), re.S
    )
    assert found, f"{GUIDE} has no such rule"
    right = found[1]
    wide = 'words[0] != "git" or "push" not in words'
    assert wide in right
    return right, right.replace(wide, 'words[:2] != ("git", "push")')


if __name__ == "__main__":
    sys.exit(main())
