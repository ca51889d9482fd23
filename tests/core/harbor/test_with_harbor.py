"""Real Harbor: its lint, and its agents in our sandbox. Runs in the environment that
``scripts/setup_harbor`` makes."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from harness_adapters.errors import AgentError, BrokenTask
from harness_adapters.harbor.export import export_tasks
from harness_adapters.harbor.importer import import_tree
from harness_adapters.tasks.bundle import load_tasks

pytest.importorskip(
    "harbor", reason="needs Harbor, and that Python 3.12: scripts/setup_harbor makes .venv-harbor"
)

pytestmark = pytest.mark.timeout(600)

EXAMPLES = Path(__file__).parents[3] / "examples"
ENVIRONMENT = "harness_adapters.harbor.environment:SandboxEnvironment"
HARBOR = Path(sys.executable).with_name("harbor")
# One of each kind.
TASKS = (
    "tasks/repair-bookings",
    "tasks/qa-accounts-0012",
    "projects/build-slugs",
    "projects/extend-tally",
)
FOREIGN = {
    "instruction.md": "Write 3 to /app/out/answer.txt.\n",
    "task.toml": 'version = "1.0"\n[agent]\ntimeout_sec = 60.0\n',
    "environment/Dockerfile": "FROM debian:12\nRUN mkdir -p /app/out\nWORKDIR /app\n",
    "tests/test.sh": '#!/bin/bash\n[ "$(cat /app/out/answer.txt)" = 3 ]; r=$?\n'
    "echo $((1 - r)) > /logs/verifier/reward.txt\n",
    "solution/solve.sh": "#!/bin/bash\necho 3 > out/answer.txt\n",
}


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("harbor")
    for name in TASKS:
        shutil.copytree(EXAMPLES / name, root / "ours" / Path(name).name)
    export_tasks(root / "ours", root / "theirs")
    return root


def harbor(*arguments: object, at: Path) -> str:
    done = subprocess.run(
        [HARBOR, *map(str, arguments)],
        cwd=at,
        env={**os.environ, "PYTHONWARNINGS": ""},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def rewards(tasks: Path, agent: str, at: Path) -> dict[str, dict[str, float] | None]:
    """By task, what Harbor's own verifier found; ``None`` where a trial failed."""
    harbor("run", "-p", tasks, "-a", agent, "-e", ENVIRONMENT, "-o", agent, "-n", 2, "-q", at=at)
    found: dict[str, dict[str, float] | None] = {}
    for path in (at / agent).glob("*/*/result.json"):
        trial = json.loads(path.read_text())
        assert trial["exception_info"] is None, trial["exception_info"]
        found[path.parent.name.partition("__")[0]] = trial["verifier_result"]["rewards"]
    return found


def test_every_shipped_task_is_lint_clean(tmp_path: Path) -> None:
    for name in ("tasks", "projects"):
        export_tasks(EXAMPLES / name, tmp_path / name)
    folders = [path.parent for path in tmp_path.glob("*/*/task.toml")]
    assert len(folders) == 28
    assert harbor("lint", "--extend-select", "root-agent", *folders, at=tmp_path) == ""


def test_the_round_trip(exported: Path, tmp_path: Path) -> None:
    theirs = exported / "theirs"
    full, none = {"reward": 1.0}, {"reward": 0.0}
    names = [Path(name).name for name in TASKS]
    assert rewards(theirs, "oracle", tmp_path) == dict.fromkeys(names, full)
    assert rewards(theirs, "nop", tmp_path) == dict.fromkeys(names, none)
    import_tree(theirs, tmp_path / "back")
    before, after = (load_tasks(root)[0] for root in (exported / "ours", tmp_path / "back"))
    assert [task.sha256 for task in after] == [task.sha256 for task in before]


def test_a_task_of_harbors_own_layout_runs_in_our_sandbox(tmp_path: Path) -> None:
    for name, text in FOREIGN.items():
        (tmp_path / "set/three" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "set/three" / name).write_text(text)
    assert rewards(tmp_path / "set", "oracle", tmp_path) == {"three": {"reward": 1.0}}
    assert rewards(tmp_path / "set", "nop", tmp_path) == {"three": {"reward": 0.0}}


@asynccontextmanager
async def started(task: Path, trial: Path, **more: Any) -> AsyncIterator[Any]:
    from harbor.models.task.config import EnvironmentConfig
    from harbor.models.trial.paths import TrialPaths

    from harness_adapters.harbor.environment import SandboxEnvironment

    paths = TrialPaths(trial_dir=trial)
    paths.mkdir()
    environment = SandboxEnvironment(
        environment_dir=task / "environment",
        environment_name="it",
        session_id="it__env",
        trial_paths=paths,
        task_env_config=EnvironmentConfig(**more.pop("config", {})),
        **more,
    )
    await environment.start(force_build=False)
    try:
        yield environment
    finally:
        await environment.stop(delete=True)


async def test_what_harbor_expects_of_an_environment(exported: Path, tmp_path: Path) -> None:
    task = exported / "theirs" / "repair-bookings"
    config = {"env": {"COLOUR": "blue"}, "memory_mb": 512}
    async with started(task, tmp_path / "trial", config=config) as environment:
        told = await environment.exec(
            "pwd; echo $COLOUR; echo $MORE; ls; exit 3", env={"MORE": "x"}
        )
        assert told.return_code == 3
        assert told.stdout.split() == ["/work", "blue", "x", "README.md", "bookings", "tests"]
        with pytest.raises(RuntimeError, match="ended after 1 seconds"):
            await environment.exec("sleep 60", timeout_sec=1)
        offline = await environment.exec("exec 3<>/dev/tcp/1.1.1.1/53", timeout_sec=20)
        assert offline.return_code != 0
        hidden = await environment.exec(f"cat {task}/tests/test.sh {task}/solution/solve.sh")
        assert hidden.return_code != 0

        (tmp_path / "up/deep/empty").mkdir(parents=True)
        (tmp_path / "up/deep/run.sh").write_text("echo ran")
        (tmp_path / "up/deep/run.sh").chmod(0o755)
        (tmp_path / "up/inside").symlink_to("deep/run.sh")
        (tmp_path / "up/outside").symlink_to("/etc/hostname")
        await environment.upload_dir(tmp_path / "up", "/tests")
        listed = await environment.exec("cd /tests && find . | sort && deep/run.sh")
        assert listed.stdout.split() == [
            *(".", "./deep", "./deep/empty", "./deep/run.sh", "./inside"),
            "ran",
        ]
        await environment.exec("ln -s /etc/passwd /logs/agent/link; echo b > /logs/agent/b")
        await environment.download_dir("/logs/agent", tmp_path / "down")
        assert [path.name for path in (tmp_path / "down").iterdir()] == ["b"]
        await environment.upload_file(tmp_path / "down/b", "/work/new/b")
        await environment.download_file("/work/new/b", tmp_path / "c/d")
        assert (tmp_path / "c/d").read_text() == "b\n"
        with pytest.raises(FileNotFoundError):
            await environment.download_file("/work/nothing", tmp_path / "e")
        with pytest.raises(AgentError):
            await environment.download_file("/work", tmp_path / "e")
    with pytest.raises(RuntimeError, match="not started"):
        await environment.exec("true")


async def test_what_it_cannot_give_it_refuses(exported: Path, tmp_path: Path) -> None:
    task = shutil.copytree(exported / "theirs" / "repair-bookings", tmp_path / "task")
    with pytest.raises(ValueError, match="no root of its own"):
        async with started(task, tmp_path / "a", sandbox="process"):
            pass
    with pytest.raises(ValueError, match="Unknown option 'sandbocks'"):
        async with started(task, tmp_path / "b", sandbocks="docker"):
            pass
    (task / "environment/Dockerfile").write_text("FROM x\nRUN apt-get install -y gcc\n")
    with pytest.raises(BrokenTask, match="needs docker: RUN apt-get at line 2"):
        async with started(task, tmp_path / "c"):
            pass
