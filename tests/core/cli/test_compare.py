"""``ha compare`` as a person and as a program would use it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from run_folders import attempt, write_run

from harness_adapters import Outcome
from harness_adapters.cli import main


def call(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as end:
        main(["compare", *map(str, arguments)])
    out, err = capsys.readouterr()
    return int(end.value.code or 0), out, err


@pytest.fixture
def base(tmp_path: Path) -> Path:
    rollouts = [
        attempt(
            f"t{n:02}",
            cluster=f"c{n}",
            calls=8 + n % 3,
            outcome=Outcome.SOLVED if n % 4 else Outcome.FAILED,
        )
        for n in range(16)
    ]
    return write_run(tmp_path / "base", rollouts)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    rollouts = [attempt(f"t{n:02}", cluster=f"c{n}", calls=5 + n % 2) for n in range(16)]
    return write_run(tmp_path / "run", rollouts)


def test_tables_for_people(capsys: pytest.CaptureFixture[str], base: Path, run: Path) -> None:
    code, out, err = call(capsys, base, run)
    assert (code, err) == (0, "")
    assert "fewer tool calls" in out and "would be found 4 times in 5" not in out.split("\n")[0]
    for words in ("pass@1", "kind: repair", "tokens per solve", "only by the run 4"):
        assert words in out


def test_one_json_object_for_programs(
    capsys: pytest.CaptureFixture[str], base: Path, run: Path
) -> None:
    code, out, _ = call(capsys, base, run, run, "--json", "--margin", "0.1", "--seed", "3")
    content = json.loads(out)
    assert code == 0 and out.count("\n") == 1
    assert (content["margin"], content["seed"], len(content["runs"])) == (0.1, 3, 2)


def test_missing_attempts_end_with_one(
    capsys: pytest.CaptureFixture[str], base: Path, tmp_path: Path
) -> None:
    half = [attempt(f"t{n:02}", cluster=f"c{n}") for n in range(8)]
    run = write_run(tmp_path / "half", half, tasks=[f"t{n:02}" for n in range(16)])
    code, out, err = call(capsys, base, run, "--json")
    assert code == 1 and "8 of 16 attempts are missing" in err
    assert json.loads(out)["diff_pass1"]["n_tasks"] == 8


def test_gaps_are_shown_as_gaps(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Attempts that differ from task to task, costs not recorded."""
    tasks = [f"t{n:02}" for n in range(12)]
    base = [
        attempt(task, cluster=task, number=n, outcome=Outcome.FAILED, tokens=None)
        for task in tasks
        for n in range(2)
    ]
    run = [attempt(task, cluster=task) for task in tasks] + [
        attempt("t00", cluster="t00", number=1)
    ]
    paths = write_run(tmp_path / "base", base), write_run(tmp_path / "run", run, attempts=2)
    code, out, _ = call(capsys, *paths)
    lines = [line.split() for line in out.splitlines()]
    assert code == 1
    counted = [line[-3:] for line in lines if line[:1] == [str(paths[1])]]
    assert ["1", "to", "2"] in counted
    assert ["tokens", "per", "solve", "-", "-", "-"] in lines


def test_an_arm_without_any_result_is_shown_as_that(
    capsys: pytest.CaptureFixture[str], base: Path, tmp_path: Path
) -> None:
    gone = [attempt(f"t{n:02}", cluster=f"c{n}", outcome=Outcome.INFRA) for n in range(16)]
    run = write_run(tmp_path / "gone", gone)
    code, out, _ = call(capsys, base, run)
    assert code == 1 and "Nothing can be said about pass@1: no task" in out
    lines = [line.split() for line in out.splitlines()]
    assert [str(run), "-", "-", "-", "0", "0"] in lines
    assert any(line[:3] == [str(run), "16", "0"] for line in lines)


def test_unlike_runs_end_with_two_and_name_the_field(
    capsys: pytest.CaptureFixture[str], base: Path, tmp_path: Path
) -> None:
    run = write_run(tmp_path / "run", [attempt()], harness_version="9")
    code, out, err = call(capsys, base, run)
    assert (code, out) == (2, "")
    assert "harness_version: '0.73.1' against '9'" in err


@pytest.mark.parametrize("arguments", [["."], [".", "."], [".", ".", "--margin", "1"]])
def test_bad_input_ends_with_two(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    arguments: list[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    code, out, err = call(capsys, *arguments)
    assert (code, out) == (2, "") and err and "Traceback" not in err
