"""The shipped build and extend tasks: by their own scripts, without any sandbox, doing nothing gets
0 and the solution 1."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from harness_adapters.parts import check_tasks, make_kinds
from harness_adapters.plugins import Plugins
from harness_adapters.serve.scripted.material import Material
from harness_adapters.serve.scripted.oracle import solve
from harness_adapters.serve.scripted.vocabulary import Edit, Read, Shell, Write
from harness_adapters.tasks.bundle import load_task, load_tasks

PROJECTS = Path(__file__).parents[2] / "examples" / "projects"
NAMES = sorted(path.parent.name for path in PROJECTS.glob("*/task.toml"))
# The scripts call ``python3``; here that must be the interpreter that has pytest.
ENVIRONMENT = {
    "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
}


def reward(task: Path, work: Path) -> float:
    logs = work.parent / "logs"
    script = task / "tests" / "test.sh"
    subprocess.run(["bash", script, work, logs], env=ENVIRONMENT, capture_output=True, check=True)
    return float((logs / "reward.txt").read_text())


def test_two_of_each_kind_are_sound_bundles() -> None:
    tasks, broken = load_tasks(PROJECTS)
    assert broken == []
    plugins = Plugins.load()
    good, broken = check_tasks(plugins, make_kinds(plugins, {"build", "extend"}), tasks)
    assert broken == []
    assert sorted(task.kind for task in good) == ["build", "build", "extend", "extend"]
    assert len({task.metadata.cluster for task in good}) == 4


@pytest.mark.parametrize("name", NAMES)
def test_nothing_gets_0_and_the_solution_1(name: str, tmp_path: Path) -> None:
    task, work = PROJECTS / name, tmp_path / "work"
    shutil.copytree(task / "environment" / "repo", work)
    assert reward(task, work) == 0.0
    script = ["bash", str(task / "solution" / "solve.sh")]
    subprocess.run(script, cwd=work, env=ENVIRONMENT, check=True)
    assert reward(task, work) == 1.0
    if (work / "tests").is_dir():
        visible = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests"]
        done = subprocess.run(visible, cwd=work, env=ENVIRONMENT, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout


def test_half_of_it_gets_a_part(tmp_path: Path) -> None:
    """The scripts give the same partial credit as the kinds."""
    task, work = PROJECTS / "build-spans", tmp_path / "work"
    shutil.copytree(task / "environment" / "repo", work)
    module = work / "spans" / "__init__.py"
    solved = (task / "solution" / "files" / "spans" / "__init__.py").read_text()
    half = solved.replace("return sum(end - start for start, end in merge(spans))", "return None")
    module.write_text(half)
    assert 0.5 < reward(task, work) < 1.0


@pytest.mark.parametrize("name", NAMES)
def test_the_scripted_oracle_reads_writes_and_checks(name: str) -> None:
    intents = solve(Material(load_task(PROJECTS / name)))
    assert len(intents) >= 3
    assert isinstance(intents[0], Read) and isinstance(intents[-1], Shell)
    assert any(isinstance(intent, Edit | Write) for intent in intents)
