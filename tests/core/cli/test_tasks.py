"""``ha tasks check``, ``stats``, ``show`` and ``split`` as a person or a program uses them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from command import TASKS

from harness_adapters.cli import main
from harness_adapters.tasks.bundle import load_task
from harness_adapters.tasks.checks import CHECKS, check

QUESTION = {
    "instruction.md": "What is the mean height? Write it to answer.txt.\n",
    "task.toml": '[metadata.harness_adapters]\nkind = "qa"\ncluster = "c"\n'
    '[verifier]\nenvironment_mode = "separate"\n[environment]\nallow_internet = false\n',
    "environment/Dockerfile": "FROM debian:12\nCOPY data/ /work/\nWORKDIR /work\n",
    "environment/data/a.csv": "h\n12\n13\n",
    "tests/test.sh": "exit 1\n",
    "tests/expected.json": '{"type": "number", "value": 12.5}',
    "solution/solve.sh": "echo 12.5 > answer.txt\n",
}


def call(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as end:
        main(["tasks", *map(str, arguments)])
    out, err = capsys.readouterr()
    return int(end.value.code or 0), out, err


def write(folder: Path, changes: dict[str, str] | None = None) -> Path:
    for name, content in {**QUESTION, **(changes or {})}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return folder


def last(out: str) -> dict[str, Any]:
    found = json.loads(out.splitlines()[-1])
    assert isinstance(found, dict)
    return found


def test_check_says_what_fails_keeps_evidence_and_goes_on(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tasks, out = tmp_path / "tasks", tmp_path / "evidence"
    write(tasks / "good")
    write(tasks / "leaky", {"instruction.md": "Write 12.5 to answer.txt."})
    write(tasks / "broken", {"tests/expected.json": "{}"})
    code, said, err = call(capsys, "check", tasks, "--out", out, "--json")
    summary = last(said)
    assert code == 1
    assert "leaky  FAILED\n    leak: instruction.md: holds the answer, '12.5'" in err
    assert "expected.json: " in err, "the broken one is named"
    counts = {name: summary[name] for name in ("planned", "checked", "passed", "failed", "broken")}
    assert counts == {"planned": 2, "checked": 2, "passed": 1, "failed": 1, "broken": 1}
    assert [(f["task"], f["check"]) for f in summary["failures"]] == [("leaky", "leak")]
    assert summary == json.loads((out / "summary.json").read_text())

    evidence = json.loads((out / "good.json").read_text())
    assert list(evidence["checks"]) == list(CHECKS)
    assert evidence["sha256"] == load_task(tasks / "good").sha256
    assert all(one["trials"] for name, one in evidence["checks"].items() if name != "leak")

    code, _, err = call(capsys, "check", tasks, "--out", out)
    assert (code, "--resume" in err) == (2, True)

    write(tasks / "leaky")
    shutil.rmtree(tasks / "broken")
    looked_at: list[str] = []
    real = check.check_task

    async def counted(task: Any, *rest: Any) -> Any:
        looked_at.append(task.id)
        return await real(task, *rest)

    monkeypatch.setattr(check, "check_task", counted)
    code, said, _ = call(capsys, "check", tasks, "--out", out, "--resume", "--json")
    assert (code, last(said)["passed"], looked_at) == (0, 2, ["leaky"])


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["check", "nowhere"], "no such folder"),
        (["check", TASKS, "--kind", "repiar"], "did you mean 'repair'"),
        (["check", TASKS, "--resume"], "--resume needs --out"),
        (["check", TASKS, "--out", TASKS, "--resume"], "holds no evidence"),
        (["check", TASKS, "--limit", "1", "--sandbox", "dokcer"], "no sandbox 'dokcer'"),
        (["show", TASKS, "repair-leger"], "did you mean 'repair-ledger'"),
        (["show", TASKS], "name one"),
        (["split", TASKS], "held out are to be 40 repository tasks, but there are only"),
        (["split", TASKS, "--held-out", "data=few"], "'data=few' is none of"),
        (["stats", "nowhere"], "no such folder"),
        (["stats", "unreadable"], "no readable task: unreadable/one/task.toml: not valid TOML"),
        (["show", "unreadable", "one"], "unreadable/one/task.toml: not valid TOML"),
        (["check", "unreadable"], "no readable task: unreadable/one/task.toml: not valid TOML"),
        (["import", "unreadable", "new"], "no task could be imported: unreadable/one/task.toml"),
        (["export", "unreadable", "new"], "no task could be exported: unreadable/one/task.toml"),
    ],
)
def test_bad_input_starts_nothing(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[object],
    says: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "unreadable" / "one").mkdir(parents=True)
    (tmp_path / "unreadable" / "one" / "task.toml").write_text("[a\n")
    code, out, err = call(capsys, *arguments)
    assert (code, out) == (2, "")
    assert not (tmp_path / "new").exists()
    assert says in err and len(err.splitlines()) <= 2


def test_stats(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = call(capsys, "stats", TASKS, "--json")
    found = last(out)
    assert (code, found["broken"]) == (0, 0)
    assert sum(found["kinds"].values()) == found["tasks"] == sum(found["splits"].values())
    code, out, _ = call(capsys, "stats", TASKS)
    assert code == 0 and "repair" in out and "%" in out


def test_one_task_alone_need_not_be_named(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    write(tmp_path / "set" / "only")
    code, out, _ = call(capsys, "show", tmp_path / "set", "--json")
    assert (code, last(out)["id"]) == (0, "only")


def test_show(capsys: pytest.CaptureFixture[str]) -> None:
    task = load_task(TASKS / "repair-ledger")
    for arguments in ((TASKS, "repair-ledger"), (TASKS / "repair-ledger",)):
        code, out, _ = call(capsys, "show", *arguments, "--json")
        found = last(out)
        assert (code, found["id"], found["kind"]) == (0, "repair-ledger", "repair")
        assert found["instruction"] == task.instruction
        assert "/work/ledger/money.py" in found["files"]
        assert not any("/tests/test_ledger.py" in place for place in found["files"])
        assert "tests/**" in found["protected"]
    code, out, _ = call(capsys, "show", TASKS, "repair-ledger")
    assert code == 0 and "refund" in out and "/work/ledger/money.py" in out


def test_split(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ("split", TASKS, "--held-out", "repository=3,data=6")
    code, out, _ = call(capsys, *arguments, "--json")
    found = last(out)
    assert code == 0 and set(found) == {"train", "dev", "held_out"}
    assert not set(found["train"]) & set(found["held_out"])
    assert sum("repair" in name for name in found["held_out"]) >= 3
    code, again, _ = call(capsys, *arguments, "--json")
    assert last(again) == found
    code, out, _ = call(capsys, *arguments)
    assert code == 0 and "held_out" in out
