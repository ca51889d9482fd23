"""Other people's folders in Harbor's layout, from a tree or from a download of the Hub."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from harness_adapters.cli import main
from harness_adapters.errors import BadInput
from harness_adapters.harbor.importer import import_tree
from harness_adapters.tasks.bundle import load_task, load_tasks

TEST = """\
#!/bin/bash
mkdir -p /logs/verifier
if [ "$(cat /app/out/sum.txt)" = 12354 ]
then echo 1; else echo 0; fi > /logs/verifier/reward.txt
"""
FILES = {
    "instruction.md": "Write the sum of the numbers in notes.txt to /app/out/sum.txt.\n",
    "task.toml": 'version = "1.0"\n[agent]\ntimeout_sec = 120.0\n[environment]\ncpus = 1\n',
    "environment/Dockerfile": "FROM ubuntu:24.04\nRUN mkdir -p /app/out\n"
    "WORKDIR /app\nCOPY notes.txt /app/\n",
    "environment/notes.txt": "4711\n7643\n",
    "tests/test.sh": TEST,
    "solution/solve.sh": "#!/bin/bash\nawk '{ s += $1 } END { print s }' notes.txt > out/sum.txt\n",
}


def add(folder: Path, changes: dict[str, str | None] | None = None) -> Path:
    for name, content in {**FILES, **(changes or {})}.items():
        if content is not None:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(content)
    return folder


def cached(cache: Path, tree: Path) -> Path:
    """``tree`` as the Hub's client leaves a dataset in its cache."""
    repo = cache / "datasets--somebody--tasks"
    snapshot = repo / "snapshots" / ("0" * 40)
    (repo / "blobs").mkdir(parents=True)
    (repo / "refs").mkdir()
    (repo / "refs" / "main").write_text("0" * 40)
    for number, path in enumerate(sorted(p for p in tree.rglob("*") if p.is_file())):
        blob = repo / "blobs" / str(number)
        blob.write_bytes(path.read_bytes())
        place = snapshot / path.relative_to(tree)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.symlink_to(blob)
    return snapshot


def test_a_foreign_task_stays_as_it_is_and_is_self_graded(tmp_path: Path) -> None:
    add(tmp_path / "set" / "tasks" / "hello")
    imported = import_tree(tmp_path / "set", tmp_path / "out")
    assert (imported.written, imported.self_graded) == (["hello"], ["hello"])
    task = load_task(tmp_path / "out" / "hello")
    assert (task.self_graded, task.workdir, task.folders) == (True, "/app", ("/app/out",))
    assert task.sha256 == load_task(tmp_path / "set/tasks/hello").sha256


def test_a_single_folder_and_a_tree_of_sets(tmp_path: Path) -> None:
    add(tmp_path / "set" / "a" / "one")
    add(tmp_path / "set" / "b" / "two")
    assert import_tree(tmp_path / "set", tmp_path / "1").written == ["a/one", "b/two"]
    assert import_tree(tmp_path / "set/a/one", tmp_path / "2").written == ["one"]
    assert import_tree(tmp_path / "set", tmp_path / "3", limit=1).written == ["a/one"]


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"environment/Dockerfile": "FROM x\nRUN apt-get install -y gcc\n"}, "needs docker: RUN a"),
        ({"environment/docker-compose.yaml": ""}, "several services"),
        ({"task.toml": '[[steps]]\nname = "a"\n'}, r"\[\[steps\]\]"),
        (
            {
                "task.toml": '[environment]\ndocker_image = "x"\n',
                "environment/Dockerfile": None,
            },
            "docker_image: needs docker",
        ),
        ({"tests/test.sh": None}, "nor a tests/test.sh"),
    ],
)
def test_what_cannot_run_here_says_why_and_costs_no_other(
    tmp_path: Path, changes: dict[str, str | None], says: str
) -> None:
    add(tmp_path / "set" / "bad", changes)
    with pytest.raises(BadInput, match=f"no task could be imported: .*set/bad/.*{says}"):
        import_tree(tmp_path / "set", tmp_path / "out")
    add(tmp_path / "set" / "good")
    imported = import_tree(tmp_path / "set", tmp_path / "out")
    assert (imported.written, len(imported.broken)) == (["good"], 1)
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["good"]


def test_ids_that_are_too_alike_are_no_set(tmp_path: Path) -> None:
    for name in ("Hello", "hello", "a/b", "a__b"):
        add(tmp_path / "set" / name)
    imported = import_tree(tmp_path / "set", tmp_path / "out")
    tasks, broken = load_tasks(tmp_path / "out")
    assert ([task.id for task in tasks], broken) == (imported.written, [])
    assert [str(error).partition(": its id is too like")[1] != "" for error in imported.broken] == [
        True,
        True,
    ]


def test_a_name_that_is_no_id_is_told_as_it_was_given(tmp_path: Path) -> None:
    add(tmp_path / "set" / "good")
    add(tmp_path / "set" / os.fsdecode(b"n\xff"))
    (error,) = import_tree(tmp_path / "set", tmp_path / "out").broken
    assert str(error).startswith(f"{tmp_path}/set/n\\xff: a task's id is")


def test_a_prebuilt_image_gets_the_tasks_files_in_its_workdir(tmp_path: Path) -> None:
    toml = '[environment]\ndocker_image = "python:3.12"\nworkdir = "/app"\n'
    add(tmp_path / "set" / "hello", {"environment/Dockerfile": None, "task.toml": toml})
    import_tree(tmp_path / "set", tmp_path / "out")
    task = load_task(tmp_path / "out" / "hello")
    assert task.files == {"/app": tmp_path / "out/hello/environment"}


def test_what_only_its_image_has_is_marked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    toml = '[environment]\ndocker_image = "example/app:1"\nworkdir = "/app"\n'
    needs: dict[str, str | None] = {
        "environment/Dockerfile": "FROM x\nRUN apt-get install -y gcc\n",
        "task.toml": toml,
    }
    add(tmp_path / "set" / "hello", needs)
    add(tmp_path / "set" / "other", {"task.toml": toml})
    imported = import_tree(tmp_path / "set", tmp_path / "out")
    assert (imported.written, imported.in_images) == (["hello", "other"], ["hello"])
    code, _, err = run(capsys, "import", str(tmp_path / "set"), str(tmp_path / "again"))
    assert (code, "2 self-graded, 1 for --sandbox docker only" in err) == (0, True)


def test_links_are_followed_within_a_download_only(tmp_path: Path) -> None:
    add(tmp_path / "tree" / "tasks" / "hello")
    snapshot = cached(tmp_path / "cache", tmp_path / "tree")
    with pytest.raises(BadInput, match="a symbolic link"):
        import_tree(snapshot, tmp_path / "out")
    repo = snapshot.parents[1]
    assert import_tree(snapshot, tmp_path / "out", links=repo).written == ["hello"]
    assert not any(path.is_symlink() for path in (tmp_path / "out").rglob("*"))
    (snapshot / "tasks/hello/environment/stolen").symlink_to("/etc/passwd")
    with pytest.raises(BadInput, match="no file of the download"):
        import_tree(snapshot, tmp_path / "other", links=repo)


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as end:
        main(["tasks", *arguments])
    out, err = capsys.readouterr()
    return int(end.value.code or 0), out, err


@pytest.mark.timeout(600)
def test_a_dataset_comes_from_the_cache_and_passes_the_six_checks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import huggingface_hub.constants

    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    add(tmp_path / "tree" / "tasks" / "hello")
    cached(tmp_path / "cache", tmp_path / "tree")
    out = str(tmp_path / "out")
    assert run(capsys, "import", "nobody/nothing", out)[0] == 2
    code, _, err = run(capsys, "import", "somebody/tasks", out, "--split", "dev")
    assert (code, "suites of SmolDataEnvs" in err) == (2, True)
    code, printed, err = run(capsys, "import", "somebody/tasks", out, "--json")
    assert (code, "1 tasks in" in err, "1 self-graded" in err) == (0, True, True)
    counts = {"written": 1, "broken": 0, "self_graded": 1, "in_images": 0}
    assert json.loads(printed) == {"out": out, **counts}
    assert load_tasks(out)[0][0].self_graded

    code, _, _ = run(capsys, "check", out, "--out", str(tmp_path / "checks"))
    found = json.loads((tmp_path / "checks" / "hello.json").read_text())
    assert {name: one["status"] for name, one in found["checks"].items()} == dict.fromkeys(
        ("oracle", "baseline", "stability", "tamper", "discrimination", "leak"), "passed"
    )
    assert code == 0
