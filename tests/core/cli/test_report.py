"""``ha report`` as a person and as a program would use it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from evaluations import HOSTILE, write_evaluation

from harness_adapters.cli import main
from harness_adapters.evaluation.report.document import Table
from harness_adapters.evaluation.report.read import read_documents


def call(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as end:
        main(["report", *map(str, arguments)])
    out, err = capsys.readouterr()
    return int(end.value.code or 0), out, err


@pytest.fixture
def evaluation(tmp_path: Path) -> Path:
    write_evaluation(tmp_path / "evaluation")
    return tmp_path / "evaluation"


def test_one_file(capsys: pytest.CaptureFixture[str], evaluation: Path, tmp_path: Path) -> None:
    out = tmp_path / "new" / "report.html"
    code, said, err = call(capsys, evaluation, "--out", out, "--json")
    assert code == 0 and str(out) in err
    assert json.loads(said) == {"out": str(out), "bytes": out.stat().st_size, "documents": 1}
    assert out.read_text().startswith("<!DOCTYPE html>")


def test_the_terminal_has_the_same_tables(
    capsys: pytest.CaptureFixture[str], evaluation: Path
) -> None:
    code, out, _ = call(capsys, evaluation)
    (document,) = read_documents([evaluation])
    tables = [b for s in document.sections for b in s.blocks if isinstance(b, Table)]
    assert code == 0 and HOSTILE in out
    for table in tables:
        assert table.title in out
        assert all(cell.text in out for row in table.rows for cell in row)


@pytest.mark.parametrize("arguments", [[], ["nothing"], ["nothing", "--json"]])
def test_bad_input_ends_with_two(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    arguments: list[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    code, out, err = call(capsys, *arguments)
    assert (code, out) == (2, "") and err and "Traceback" not in err


def test_a_file_that_cannot_be_written(
    capsys: pytest.CaptureFixture[str], evaluation: Path
) -> None:
    code, _, err = call(capsys, evaluation, "--out", evaluation)
    assert code == 2 and "cannot write" in err
