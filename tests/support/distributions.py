"""Distributions as a stranger would install them: wheels, in an environment of their own.

Nothing is downloaded. The environment borrows this one's site-packages for dependencies, after its
own: what is installed there comes first, harness-adapters itself among it.
"""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import textwrap
import venv
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[2]
PLUGINS = ROOT / "examples" / "plugins"


def install(folder: Path, distribution: str, module: str, code: str, entry: str) -> None:
    """What pip leaves behind for a distribution with one module and one entry point."""
    folder.mkdir(exist_ok=True)
    (folder / f"{module.partition(':')[0]}.py").write_text(textwrap.dedent(code))
    info = folder / f"{distribution.replace('-', '_')}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[harness_adapters]\n{entry} = {module}\n")


def build_wheel(project: Path, into: Path) -> Path:
    """The wheel of a project, built by its own backend."""
    _pip("wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", into, project)
    stem = project.name.replace("-", "_") if project != ROOT else "harness_adapters"
    (wheel,) = into.glob(f"{stem}-*.whl")
    return wheel


class Environment:
    """A virtual environment with some wheels in it."""

    def __init__(self, folder: Path, wheels: Sequence[Path]) -> None:
        venv.create(folder, symlinks=True)
        self.python = folder / "bin" / "python"
        version = f"python{sys.version_info.major}.{sys.version_info.minor}"
        site = folder / "lib" / version / "site-packages"
        (site / "borrowed.pth").write_text(sysconfig.get_path("purelib") + "\n")
        self.install(*wheels)

    def install(self, *wheels: Path) -> None:
        if wheels:
            _pip("install", "--quiet", "--no-deps", "--no-index", *wheels, python=self.python)

    def run(self, *words: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
        """Run a module or script of the environment."""
        hidden = ("PYTHONPATH", "PYTEST_ADDOPTS", "VIRTUAL_ENV")
        env = {key: value for key, value in os.environ.items() if key not in hidden}
        env["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
        return subprocess.run(
            [self.python, *words],
            cwd=cwd,
            env=env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )

    def ha(self, *words: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
        return self.run("-c", "from harness_adapters.cli import main; main()", *words, cwd=cwd)


def _pip(*words: str | Path, python: Path | None = None) -> None:
    target = ["--python", str(python)] if python else []
    done = subprocess.run(
        [sys.executable, "-m", "pip", "--disable-pip-version-check", *target, *map(str, words)],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
