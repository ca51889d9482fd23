"""Several models over one engine in one go: real pi, real sandbox, real engine process."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from command import HA, ROOT, TASKS, Ha

from harness_adapters.record.folder import read_manifest, read_rollouts

pytestmark = [pytest.mark.timeout(600)]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--model", "oracle,oracle"], "model 'oracle' is named twice"),
        (["--model", "oracle,orcale"], "no play 'orcale'; did you mean 'oracle'"),
        (["--model", ","], "needs a model"),
        (["--model", "oracle", "--matrix"], "two harnesses"),
        (["--model", "oracle", "--harness", "pie"], "did you mean 'pi'"),
        (["--model", "oracle", "--matrix", "--ablate-guards"], "two evaluations"),
        (["--model", "oracle", "--ablate-guards", "--guards", "none"], "needs a guard"),
        (["--model", "oracle", "--engine", "http://127.0.0.1:9"], "no engine answers at"),
        (["--model", "oracle", "--split", "nothing"], "no task"),
    ],
)
def test_bad_input(ha: Ha, tmp_path: Path, arguments: list[str], says: str) -> None:
    done = ha("eval", TASKS, *arguments, "--out", tmp_path / "eval", "--json")
    assert done.code == 2, done.stderr
    assert says in done.stderr and "Traceback" not in done.stderr
    assert done.stdout == ""
    assert not (tmp_path / "eval").exists()  # nothing was started, so nothing is in the way


@pytest.mark.full
def test_the_oracle_needs_fewer_calls_than_who_wastes_them(ha: Ha, tmp_path: Path) -> None:
    out, tasks = tmp_path / "eval", 24
    done = ha(
        *("eval", TASKS, "--model", "wasteful,oracle"),
        *("--max-requests", "30", "--concurrency", "2", "--out", out, "--json"),
    )
    assert (done.json["planned"], done.json["finished"]) == (2 * tasks, 2 * tasks), done.stderr
    (comparison,) = done.json["comparisons"]
    assert comparison["diff_pass1"]["est"] == 0
    ratio = comparison["calls_ratio"]
    assert 0 < ratio["lo"] <= ratio["est"] <= ratio["hi"] < 1
    assert comparison["runs"][0]["verdict"]["calls"] == "lower"
    folders = [Path(arm["path"]) for arm in done.json["arms"]]
    assert folders == [out / "pi" / "wasteful", out / "pi" / "oracle"]
    for folder in folders:
        assert read_manifest(folder).limits["default"]["max_requests"] == 30
        assert ha("show", folder, "--json").json["solved"] == tasks
    assert ha("compare", *folders, "--json").json["calls_ratio"] == ratio
    page = tmp_path / "report.html"
    assert ha("report", out, "--out", page).code == 0
    assert "oracle against wasteful" in page.read_text()
    again = ha("eval", TASKS, "--model", "wasteful,oracle", "--out", out)
    assert again.code == 2 and "--resume" in again.stderr


@pytest.mark.full
def test_guards_on_and_off_block_and_do_not(ha: Ha, tmp_path: Path) -> None:
    done = ha(
        *("eval", TASKS, "--model", "cheat:conftest", "--ablate-guards", "--kind", "repair"),
        *("--limit", "1", "--concurrency", "2", "--out", tmp_path / "eval", "--json"),
    )
    assert done.json["finished"] == 2, done.stderr
    (comparison,) = done.json["comparisons"]
    off, on = comparison["base"]["blocking"], comparison["runs"][0]["blocking"]
    assert (off["block_rate"]["count"], on["block_rate"]["count"]) == (0, 1)
    assert list(on["by_rule"]) and not off["by_rule"]
    assert [arm["guards"] for arm in done.json["arms"]] == ["off", "on"]


def test_killed_half_way_and_resumed(tmp_path: Path) -> None:
    """The claim of ``scripts/evidence eval_resume``, smaller."""
    script = ROOT / "scripts" / "claims" / "eval_resume.py"
    done = subprocess.run(
        [sys.executable, script, tmp_path / "out.json", "--models", "2", "--tasks", "2"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    figures = json.loads((tmp_path / "out.json").read_text())
    assert figures["holds"] and figures["finished"] == figures["planned"] == 4


@pytest.mark.full
def test_ctrl_c_prints_what_finished_and_goes_on(ha: Ha, tmp_path: Path) -> None:
    out = tmp_path / "eval"
    command = [
        *("eval", str(TASKS), "--model", "nop,loop", "--max-requests", "10000"),
        *("--limit", "1", "--concurrency", "2", "--out", str(out), "--json"),
    ]
    process = subprocess.Popen(
        [*HA, *command],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    deadline = time.monotonic() + 120
    while not (out / "pi" / "nop").exists() or not list(read_rollouts(out / "pi" / "nop")):
        assert time.monotonic() < deadline and process.poll() is None
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    said, err = process.communicate(timeout=30)
    assert process.returncode == 130, err
    content = json.loads(said.splitlines()[-1])
    assert (content["planned"], content["finished"]) == (2, 1)
    assert "Traceback" not in err
    before = (out / "pi" / "nop" / "rollouts.log").read_bytes()
    unlike = ha(*command, "--resume", "--attempts", "2")
    assert unlike.code == 2 and "attempts: 1 against 2" in unlike.stderr
    other = ha(*(one.replace("nop,loop", "nop,text") for one in command), "--resume")
    assert other.code == 2 and "models: nop, loop against nop, text" in other.stderr
    assert (out / "pi" / "nop" / "rollouts.log").read_bytes() == before
