"""Bundles on disk, their oracle and their grader."""

from __future__ import annotations

import json
import os
import runpy
import sqlite3
import stat
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from harness_adapters.errors import BadInput
from harness_adapters.tasks.questions import Question, generate, write_bundle, write_bundles
from harness_adapters.tasks.questions.bundle_files import grade

HA = "from harness_adapters.cli import main; main()"


def test_a_bundle_has_harbors_layout(tmp_path: Path) -> None:
    (question,) = generate(seed=1, count=1)
    write_bundle(question, tmp_path / "task")
    names = {
        p.relative_to(tmp_path / "task").as_posix() for p in tmp_path.rglob("*") if p.is_file()
    }
    assert names == {
        "instruction.md",
        "task.toml",
        "environment/Dockerfile",
        *(f"environment/data/{name}" for name in question.files),
        "tests/test.sh",
        "tests/grade.py",
        "tests/expected.json",
        "solution/solve.sh",
        "solution/solve.py",
    }
    toml = tomllib.loads((tmp_path / "task/task.toml").read_text())
    ours = toml["metadata"]["harness_adapters"]
    assert (ours["kind"], ours["cluster"], ours["split"]) == ("qa", question.table, question.split)
    assert ours["answer_sources"] == sorted(question.files)
    assert (tmp_path / "task/tests/test.sh").stat().st_mode & stat.S_IXUSR


def test_an_agent_sees_nothing_of_the_answer(tmp_path: Path) -> None:
    for question in generate(seed=2, count=30):
        folder = tmp_path / question.id
        write_bundle(question, folder)
        assert {p.name for p in (folder / "environment/data").iterdir()} == set(question.files)
        toml = (folder / "task.toml").read_text()
        assert "value" not in toml and "expected" not in toml


def test_solutions_write_the_expected_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for question in generate(seed=3, count=150):
        work = tmp_path / question.id
        work.mkdir()
        for name, data in question.files.items():
            (work / name).write_bytes(data)
        program = tmp_path / f"{question.id}.py"
        program.write_text(question.solution)
        monkeypatch.chdir(work)
        runpy.run_path(str(program))
        text = (work / "answer.txt").read_text()
        assert grade.right(text, question.answer.as_json()), (question, text)


def test_an_existing_folder_is_not_touched(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out/mine").touch()
    for out in (tmp_path / "out", tmp_path / "out/mine"):
        with pytest.raises(BadInput, match="not an empty folder"):
            write_bundles(generate(seed=1, count=2), out)
    assert [p.name for p in tmp_path.rglob("*")] == ["out", "mine"]


def test_an_empty_folder_is_filled(tmp_path: Path) -> None:
    out = tmp_path / "deep" / "out"
    out.mkdir(parents=True)
    assert write_bundles(generate(seed=1, count=3), out) == 3
    assert len(list(out.iterdir())) == 3


def test_a_failure_leaves_nothing(tmp_path: Path) -> None:
    def interrupted() -> Iterator[Question]:
        yield from generate(seed=1, count=2)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_bundles(interrupted(), tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_sqlite_files_are_whole_databases(tmp_path: Path) -> None:
    for question in generate(seed=1, count=12):
        if question.format == "sqlite":
            path = tmp_path / f"{question.table}.sqlite"
            path.write_bytes(question.files[path.name])
            with closing(sqlite3.connect(path)) as database:
                assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("12.34\n", True),
        (" +12.35 ", True),
        ("12.355", False),
        ("1.234e1", True),
        ("12.34 or 99", False),
        ("The answer is 12.34", False),
        ("nan", False),
        ("", False),
        ("\N{FULLWIDTH DIGIT ONE}2.34", False),
    ],
)
def test_numbers(text: str, right: bool) -> None:
    expected = {"type": "number", "value": 12.34, "abs_tol": 0.01, "rel_tol": 0.0}
    assert grade.right(text, expected) is right


@pytest.mark.parametrize(
    ("text", "right"),
    [("b c\nA\n", True), ("a\n\nB  C", True), ("a", False), ("a\na\nb c", False), ("", False)],
)
def test_lists_have_no_order(text: str, right: bool) -> None:
    assert grade.right(text, {"type": "list", "value": ["A", "B c"]}) is right


def test_a_whole_number_has_no_tolerance() -> None:
    expected: dict[str, Any] = {"type": "number", "value": 7, "abs_tol": 0.0, "rel_tol": 0.0}
    assert grade.right("7.0", expected)
    assert not grade.right("7.001", expected)


def test_only_a_small_regular_file_is_an_answer(tmp_path: Path) -> None:
    (tmp_path / "gold").write_text("7")
    (tmp_path / "link").symlink_to(tmp_path / "gold")
    (tmp_path / "large").write_bytes(b"7" + b" " * 70_000)
    os.mkfifo(tmp_path / "pipe")
    for name in ("link", "large", "pipe", "missing", "."):
        assert grade.read(str(tmp_path / name)) == ""
    assert grade.read(str(tmp_path / "gold")) == "7"


def test_the_command_writes_bundles_and_refuses_politely(tmp_path: Path) -> None:
    def ha(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", HA, "tasks", "generate", *arguments]
        return subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)

    made = ha("out", "--kind", "qa", "--count", "4", "--seed", "9", "--split", "dev", "--json")
    assert made.returncode == 0, made.stderr
    assert json.loads(made.stdout.splitlines()[-1]) == {"out": "out", "kind": "qa", "written": 4}
    again = ha("out", "--count", "4", "--seed", "9")
    assert again.returncode == 2 and "not an empty folder" in again.stderr
    assert "Traceback" not in again.stderr
