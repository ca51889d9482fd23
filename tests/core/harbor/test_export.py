"""Our bundles as Harbor's folders, and back to the byte."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness_adapters.cli import main
from harness_adapters.errors import BadInput
from harness_adapters.harbor import additions
from harness_adapters.harbor.export import export_tasks
from harness_adapters.harbor.importer import import_tree
from harness_adapters.tasks.bundle import load_task, load_tasks

EXAMPLES = Path(__file__).parents[3] / "examples"
TOML = """\
[metadata.harness_adapters]
kind = "repair"
cluster = "shop"
[metadata.harness_adapters.repair]
fail_to_pass = ["test_a.py::test_a"]
"""


def bundle(root: Path, *, toml: str = TOML, dockerfile: str | None = None) -> Path:
    folder = root / "one"
    (folder / "tests").mkdir(parents=True)
    (folder / "instruction.md").write_text("Do it.\n")
    (folder / "task.toml").write_text(toml)
    (folder / "tests" / "test_a.py").write_text("def test_a(subject): ...\n")
    if dockerfile is not None:
        (folder / "environment").mkdir()
        (folder / "environment" / "Dockerfile").write_text(dockerfile)
    return folder


def test_every_shipped_task_goes_out_and_comes_back_equal(tmp_path: Path) -> None:
    before, _ = load_tasks(EXAMPLES)
    exported = export_tasks(EXAMPLES, tmp_path / "out")
    assert (len(exported.written), exported.broken) == (28, [])
    for task in load_tasks(tmp_path / "out")[0]:
        toml = tomllib.loads((task.path / "task.toml").read_text())
        assert toml["artifacts"] == [task.workdir]
        assert toml["agent"]["user"] == "agent"
        assert toml["verifier"]["environment_mode"] == "separate"
    imported = import_tree(tmp_path / "out", tmp_path / "back")
    assert (imported.self_graded, imported.broken) == ([], [])
    after, _ = load_tasks(tmp_path / "back")
    assert [task.sha256 for task in after] == [task.sha256 for task in before]


@pytest.mark.parametrize("end", ["", "\n"])
@pytest.mark.parametrize("dockerfile", [None, "FROM debian:12 AS base\nWORKDIR /work"])
def test_bundles_that_say_little(tmp_path: Path, dockerfile: str | None, end: str) -> None:
    folder = bundle(
        tmp_path / "in",
        toml=TOML.rstrip() + end,
        dockerfile=None if dockerfile is None else dockerfile + end,
    )
    export_tasks(tmp_path / "in", tmp_path / "out")
    toml = tomllib.loads((tmp_path / "out/one/task.toml").read_text())
    assert toml["environment"]["network_mode"] == "no-network"
    assert (tmp_path / "out/one/tests/Dockerfile").read_text().splitlines()[1:3] == [
        f"FROM {'debian:12' if dockerfile else additions.IMAGE}",
        f"RUN pip install --no-cache-dir pytest=={additions.PYTEST}",
    ]
    exported = load_task(tmp_path / "out/one")
    assert (exported.workdir, exported.folders) == ("/work", ("/work",))
    import_tree(tmp_path / "out", tmp_path / "back")
    assert load_task(tmp_path / "back/one").sha256 == load_task(folder).sha256


@pytest.mark.parametrize(
    ("toml", "dockerfile", "says"),
    [
        (TOML + '[verifier]\nenvironment_mode = "shared"\n', None, 'need "separate"'),
        (TOML + "[environment]\nallow_internet = true\n", None, "asks for a network"),
        (TOML + '[environment]\nnetwork_mode = "public"\n', None, "asks for a network"),
        ("agent = 3\n" + TOML, None, "agent: must be a table"),
        ("agent.timeout_sec = 3\n" + TOML, None, r"write its tables as \[table\]"),
        ("agent = {timeout_sec = 3}\n" + TOML, None, r"write its tables as \[table\]"),
        (TOML + 'x = """\n[agent]\n"""\n', None, r"write its tables as \[table\]"),
        (TOML, "FROM x\nUSER me\nWORKDIR /work\n", r"say it as \[agent\] user"),
        (TOML, "ARG I=x\nFROM $I\nWORKDIR /work\n", "not one FROM"),
        ("[environment]\nworkdir = '/work'\n[metadata]\n", None, "tests/test.sh"),
    ],
)
def test_what_cannot_go_out_is_named(
    tmp_path: Path, toml: str, dockerfile: str | None, says: str
) -> None:
    bundle(tmp_path / "in", toml=toml, dockerfile=dockerfile)
    with pytest.raises(BadInput, match=says):
        export_tasks(tmp_path / "in", tmp_path / "out")
    assert not (tmp_path / "out").exists()
    assert not list(tmp_path.glob(".out.*"))


def test_a_users_own_settings_stay(tmp_path: Path) -> None:
    toml = 'artifacts = ["/work/a"]\n' + TOML + '[agent]\nuser = "me"\n'
    bundle(tmp_path / "in", toml=toml, dockerfile="FROM x\nUSER me\nWORKDIR /work\n")
    export_tasks(tmp_path / "in", tmp_path / "out")
    found = tomllib.loads((tmp_path / "out/one/task.toml").read_text())
    assert (found["artifacts"], found["agent"]) == (["/work/a"], {"user": "me"})
    assert (tmp_path / "out/one/environment/Dockerfile").read_text().count("\n") == 3


@settings(deadline=None)
@given(st.text(alphabet="ab#\n\r []=\"'", max_size=60), st.sampled_from(["", "\n"]))
def test_what_is_added_can_be_taken_out(text: str, end: str) -> None:
    dockerfile = text + end
    assert additions.without(additions.with_user(dockerfile, "/w")) == dockerfile


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bundle(tmp_path / "in")
    (tmp_path / "in/two").mkdir()
    (tmp_path / "in/two/task.toml").write_text("")
    with pytest.raises(SystemExit) as end:
        main(["tasks", "export", str(tmp_path / "in"), str(tmp_path / "out"), "--json"])
    out, err = capsys.readouterr()
    assert (end.value.code, json.loads(out)["written"], json.loads(out)["broken"]) == (1, 1, 1)
    assert "two/instruction.md: there is no such file" in err
    with pytest.raises(SystemExit) as end:
        main(["tasks", "export", str(tmp_path / "in"), str(tmp_path / "out")])
    assert end.value.code == 2
    assert "not an empty folder" in capsys.readouterr().err
