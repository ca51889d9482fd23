"""Real pi in real containers: the same rollouts as in any other sandbox."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from command import HA, TASKS, Ha
from containers import containers_left, docker_sandboxes
from engine import engine_that_runs
from images import local_image

import harness_adapters
from harness_adapters import Outcome
from harness_adapters.harness.node import find_node
from harness_adapters.record.folder import read_rollouts
from harness_adapters.tasks.checks import CHECKS

pytestmark = [pytest.mark.full, pytest.mark.timeout(300)]


@pytest.fixture(autouse=True)
def engine() -> None:
    docker_sandboxes()


@pytest.mark.parametrize(("play", "solved"), [("oracle", 2), ("nop", 0)])
def test_the_oracle_solves_and_doing_nothing_does_not(
    ha: Ha, tmp_path: Path, play: str, solved: int
) -> None:
    order = ["run", TASKS, "--limit", "2", "--sandbox", "docker", "--engine", f"scripted:{play}"]
    done = ha(*order, "--out", tmp_path / "run", "--json")
    assert done.code == 0, done.stderr
    assert (done.json["planned"], done.json["solved"], done.json["infra"]) == (2, solved, 0)
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    assert (manifest["sandbox"], manifest["sandbox_lost"]) == ("docker", [])


@pytest.mark.parametrize(
    "command",
    [
        "for i in 1 2 3 4 5; do python3 -c 'x = bytearray(900 << 20); x[::4096] = "
        'b"1" * len(x[::4096]); import time; time.sleep(9)\' & done; wait',
        "b() { b | b & }; b; sleep 5; echo survived",
        "kill -9 $PPID",
    ],
    ids=["memory", "fork bomb", "kills its harness"],
)
def test_what_a_policy_does_to_its_container_is_never_unscorable(
    tmp_path: Path, command: str
) -> None:
    with engine_that_runs(command) as url:
        result = harness_adapters.run(
            TASKS,
            engine=url,
            kind="qa",
            limit=1,
            guards=[],
            infra_retries=0,
            session_seconds=120,
            sandbox="docker",
            out=tmp_path / "run",
        )
    (rollout,) = result.rollouts()
    assert rollout.outcome in (Outcome.FAILED, Outcome.HARNESS_DIED), rollout.error
    assert rollout.reward == 0
    assert containers_left() == []


@pytest.fixture(scope="module")
def foreign(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Two tasks of somebody else's, one in an image that is here and one in one that is not."""
    docker_sandboxes()
    node = asyncio.run(find_node((20, 0, 0))).binary
    files: dict[str, str | Path] = {
        "/app/heights.txt": "12\n13\n",
        "/app/old/notes.txt": "superseded\n",
        "/usr/local/bin/mean": "#!/bin/bash\necho $((($1 + $2) * 10 / 2))e-1\n",
        str(node): node,
    }
    root = tmp_path_factory.mktemp("foreign")
    with local_image(files) as image:
        for name, its in (("here", image), ("elsewhere", "example/none:1")):
            for place, text in FOREIGN.items():
                path = root / name / "task" / place
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text.replace("IMAGE", its))
        yield root


FOREIGN = {
    "instruction.md": "Write the mean height to answer.txt and remove the folder old.\n",
    "task.toml": '[environment]\ndocker_image = "IMAGE"\n[agent]\ntimeout_sec = 120\n',
    "environment/Dockerfile": "FROM debian:12\nRUN apt-get install -y mean\nWORKDIR /app\n",
    "tests/test.sh": "cd /app && [ -s answer.txt ] && [ ! -e old/notes.txt ] && "
    '[ "$(cat answer.txt)" = "$(mean $(cat heights.txt))" ] && '
    "echo 1 > /logs/verifier/reward.txt\n",
    "solution/solve.sh": "set -eu\nmean $(cat heights.txt) > answer.txt\nrm -r old\n",
    "solution/files/answer.txt": "125e-1\n",
}


def test_a_foreign_task_runs_in_its_own_image(ha: Ha, foreign: Path, tmp_path: Path) -> None:
    done = ha("tasks", "import", foreign / "here", tmp_path / "set", "--json")
    assert done.json["in_images"] == 1
    checked = ha("tasks", "check", tmp_path / "set", "--sandbox", "docker", "--out", "c", "--json")
    assert checked.code == 0, checked.stderr
    passed = {check: {"passed": 1} for check in CHECKS}
    assert checked.json["checks"] == passed
    # Real pi in it, on the image's own programs.
    with engine_that_runs("mean $(cat heights.txt) > answer.txt; rm -r old") as url:
        result = harness_adapters.run(
            tmp_path / "set", engine=url, guards=[], sandbox="docker", out=tmp_path / "run"
        )
    (rollout,) = result.rollouts()
    assert (rollout.outcome, rollout.error) == (Outcome.SOLVED, "")
    assert containers_left() == []


def test_an_image_that_cannot_be_run_is_refused_before_anything_starts(
    ha: Ha, foreign: Path, tmp_path: Path
) -> None:
    for order, why in (
        (["run", foreign / "elsewhere", "--sandbox", "docker"], "`docker pull example/none:1`"),
        (["run", foreign / "here"], "RUN apt-get at line 2; choose --sandbox docker"),
        (["tasks", "check", foreign / "elsewhere", "--sandbox", "docker"], "`docker pull"),
        (["tasks", "check", foreign / "here"], "choose --sandbox docker"),
    ):
        engine = ["--engine", "scripted:nop"] if order[0] == "run" else []
        done = ha(*order, *engine, "--out", tmp_path / "run")
        assert (done.code, why in done.stderr) == (2, True), done.stderr
        assert "Traceback" not in done.stderr
        assert not (tmp_path / "run" / "manifest.json").exists()


def test_control_c_leaves_no_container(tmp_path: Path) -> None:
    order = [*HA, "run", str(TASKS), "--sandbox", "docker", "--engine", "scripted:oracle"]
    order += ["--out", str(tmp_path / "run"), "--json"]
    with subprocess.Popen(order, cwd=tmp_path, stderr=subprocess.PIPE) as running:
        try:
            assert running.stderr is not None
            assert b"[1/" in running.stderr.readline()
            assert len(containers_left(running.pid)) >= 1
            running.send_signal(signal.SIGINT)
            running.communicate(timeout=60)
        finally:
            running.kill()
    assert running.returncode == 130
    assert containers_left(running.pid) == []
    assert list(read_rollouts(tmp_path / "run"))
