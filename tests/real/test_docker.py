"""Real pi in real containers: the same rollouts as in any other sandbox."""

from __future__ import annotations

import json
import signal
import subprocess
from pathlib import Path

import pytest
from command import HA, TASKS, Ha
from containers import containers_left, docker_sandboxes
from engine import engine_that_runs

import harness_adapters
from harness_adapters import Outcome
from harness_adapters.record.folder import read_rollouts

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
