"""A made-up suite in SmolDataEnvs' layout, brought in."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest

from harness_adapters import TaskKind
from harness_adapters.cli import main
from harness_adapters.errors import BadInput, MissingPrerequisite
from harness_adapters.parts import make_kinds
from harness_adapters.plugins import Plugins
from harness_adapters.sandbox.providers import provider
from harness_adapters.serve.scripted.material import Material
from harness_adapters.tasks.bundle import load_tasks
from harness_adapters.tasks.checks.attempts import Attempt, Bench, text
from harness_adapters.tasks.smoldataenvs import import_suite
from harness_adapters.tasks.smoldataenvs.data import Hub, Mirror
from harness_adapters.tasks.smoldataenvs.suite import is_suite
from harness_adapters.tasks.workspace import original_files

QUESTION = "Input files are in /home/user/input/. What is the mean height?\n"
TOML = """\
schema_version = "1.4"
[metadata]
gold_answer = "{gold}"
reward_mode_initial = "numeric"
kaggle_dataset_name = "nobody/weather"
difficulty_tier = "easy"
[agent]
timeout_sec = 900
[environment]
docker_image = "example/base"
[environment.env]
HF_BUCKET = "nobody/answers-and-data"
BUCKET_PREFIX = "{name}/"
HF_TOKEN = "${{HF_TOKEN:-}}"
[verifier.env]
EXPECTED_ANSWER = "{gold}"
"""
GOLD = "98765.25"


def add(suite: Path, name: str, *, toml: str = "", gold: str = GOLD) -> Path:
    folder = suite / "tasks" / name
    (folder / "environment").mkdir(parents=True)
    (folder / "tests").mkdir()
    (folder / "task.toml").write_text(toml or TOML.format(gold=gold, name=name))
    (folder / "instruction.md").write_text(QUESTION)
    (folder / "environment/pull_bucket.py").write_text("# pulls\n")
    (folder / "tests/grader.py").write_text("# grades\n")
    return folder


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    suite = tmp_path / "SmolDataEnvs-made-up-eval"
    add(suite, "stations-0001")
    add(suite, "stations-0002", gold="oak, elm")
    registry = [{"name": "x", "tasks": [{"name": "stations-0001", "path": "tasks/stations-0001"}]}]
    (suite / "registry.json").write_text(json.dumps(registry))
    return suite


@pytest.fixture
def mirror(tmp_path: Path) -> Path:
    for name in ("stations-0001", "stations-0002"):
        folder = tmp_path / "mirror" / name / "more"
        folder.mkdir(parents=True)
        (folder / "rows.csv").write_text("height\n1\n")
    return tmp_path / "mirror"


def test_what_an_agent_sees_has_no_gold_no_bucket_and_no_token(
    suite: Path, mirror: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_secret_of_whoever_imports")
    imported = import_suite(suite, tmp_path / "out", data=Mirror(mirror))
    assert (imported.written, imported.broken) == (["stations-0001", "stations-0002"], [])
    tasks, broken = load_tasks(tmp_path / "out")
    assert broken == []
    task = tasks[0]
    assert (task.kind, task.metadata.cluster, task.metadata.split) == (
        "qa",
        "nobody/weather",
        "dev",
    )
    assert (task.instruction, task.workdir, dict(task.environment)) == (QUESTION, "/workdir", {})
    assert task.limits.session_seconds == 900
    files = original_files(task)
    assert set(files) == {"/home/user/input/more/rows.csv"}
    assert task.metadata.answer_sources == tuple(files)
    seen = [task.instruction, *(entry.content.decode() for entry in files.values())]
    for secret in (GOLD, "answers-and-data", "hf_secret"):
        assert not any(secret in one for one in seen)
    assert repr(f"{GOLD}\n") in str(Material(task).script)  # what the play "oracle" writes
    whole = [p.read_text() for p in task.path.rglob("*") if p.is_file()]
    assert not any("answers-and-data" in one or "hf_secret" in one for one in whole)


async def test_imported_tasks_are_graded(suite: Path, mirror: Path, tmp_path: Path) -> None:
    import_suite(suite, tmp_path / "out", data=Mirror(mirror))
    kind: TaskKind = make_kinds(Plugins.load(), {"qa"})["qa"]
    sandboxes = await provider("bubblewrap")
    number, trees = (Bench(task, kind, sandboxes) for task in load_tasks(tmp_path / "out")[0])
    assert (await number.solve()).verdict.passed
    for answer, passed in (("98,765.3", True), ("98765.25 or 1", False), ("1", False)):
        verdict = await number.grade(Attempt(files={"answer.txt": text(answer)}))
        assert verdict.passed == passed, answer
    assert (await trees.grade(Attempt(files={"answer.txt": text("Elm,oak")}))).passed
    # The published grader believes a counter that the agent can write.
    counter = Attempt(script="echo 1 > /tmp/calls; echo '{\"calls\": 1}' > calls.json")
    assert (await number.grade(counter)).score == 0


def test_its_own_script_grades_alike(suite: Path, mirror: Path, tmp_path: Path) -> None:
    import_suite(suite, tmp_path / "out", data=Mirror(mirror))
    cases = {
        "stations-0001": {"98765.25": 1, "98,765.3": 1, "98765.25 1": 0, "nan": 0, "": 0},
        "stations-0002": {"elm, oak": 1, "OAK;ELM": 1, "oak": 0, "oak, elm, ash": 0},
    }
    for name, answers in cases.items():
        for answer, reward in answers.items():
            (tmp_path / "answer.txt").write_text(answer)
            script = tmp_path / "out" / name / "tests" / "test.sh"
            subprocess.run(["bash", script, tmp_path, tmp_path / "logs"], check=True)
            assert (tmp_path / "logs" / "reward.txt").read_text().strip() == str(reward), answer


@pytest.mark.parametrize(
    ("toml", "says"),
    [
        ("[metadata]\n", "no gold answer"),
        ('[metadata]\ngold_answer = "1"\n[verifier.env]\nEXPECTED_ANSWER = "2"\n', "two different"),
        ("[metadata\n", "not valid TOML"),
        (TOML.format(gold="1", name="nowhere"), "there is no folder"),
        (TOML.format(gold="1", name="../../etc"), "leaves the bucket"),
    ],
)
def test_a_task_that_cannot_be_had_costs_no_other(
    suite: Path, mirror: Path, tmp_path: Path, toml: str, says: str
) -> None:
    add(suite, "odd", toml=toml)
    imported = import_suite(suite, tmp_path / "out", data=Mirror(mirror))
    assert len(imported.written) == 2
    (error,) = imported.broken
    assert says in str(error)
    assert not (tmp_path / "out" / "odd").exists()


def test_a_manifest_fills_in_what_a_task_leaves_out(
    suite: Path, mirror: Path, tmp_path: Path
) -> None:
    add(suite, "bare", toml="[metadata]\n")
    (mirror / "bare").mkdir()
    (mirror / "bare/a.csv").write_text("a\n")
    rows = [{"task_id": "bare", "gold_answer": 7, "kaggle_dataset_name": "somebody/else"}]
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), suite / "manifest.parquet")
    imported = import_suite(suite, tmp_path / "out", data=Mirror(mirror), split="test")
    assert imported.broken == []
    task = next(task for task in load_tasks(tmp_path / "out")[0] if task.id == "bare")
    assert (task.metadata.cluster, task.metadata.split) == ("somebody/else", "test")


def test_bad_suites_leave_nothing_behind(suite: Path, mirror: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(BadInput, match="no suite in it"):
        import_suite(tmp_path / "empty", tmp_path / "out", data=Mirror(mirror))
    with pytest.raises(BadInput, match=r"no task could be imported: .*no folder.* 1 more"):
        import_suite(suite, tmp_path / "out", data=Mirror(tmp_path / "empty"))
    assert not (tmp_path / "out").exists()
    assert not list(tmp_path.glob(".out.*"))
    with pytest.raises(BadInput, match="not an empty folder"):
        import_suite(suite, mirror, data=Mirror(mirror))


@pytest.mark.parametrize(
    "registry",
    [
        "3",
        '"x"',
        "[null]",
        '[{"tasks": null}]',
        '[{"tasks": 3}]',
        '[{"tasks": ["a", null, {}]}]',
        '[{"tasks": [{"name": 3, "path": ["tasks"]}]}]',
        '[{"tasks": [{"name": "x", "path": "../../etc"}]}]',
        '[{"tasks": [{"name": "x", "path": "/etc"}]}]',
    ],
)
def test_a_strange_registry_costs_nothing(
    suite: Path, mirror: Path, tmp_path: Path, registry: str
) -> None:
    (suite / "registry.json").write_text(registry)
    imported = import_suite(suite, tmp_path / "out", data=Mirror(mirror))
    assert (imported.written, imported.broken) == (["stations-0001", "stations-0002"], [])


@pytest.mark.parametrize("seconds", ["nan", "inf", "-3", "true", '"soon"', "[]", "1e300"])
def test_a_strange_time_is_no_obstacle(
    suite: Path, mirror: Path, tmp_path: Path, seconds: str
) -> None:
    path = suite / "tasks/stations-0001/task.toml"
    path.write_text(path.read_text().replace("timeout_sec = 900", f"timeout_sec = {seconds}"))
    import_suite(suite, tmp_path / "out", data=Mirror(mirror))
    tasks, broken = load_tasks(tmp_path / "out")
    assert (len(tasks), broken) == (2, [])
    assert 1 <= tasks[0].limits.session_seconds <= 86_400


def test_names_that_are_too_alike_are_no_set(suite: Path, mirror: Path, tmp_path: Path) -> None:
    add(suite, "Stations-0001")
    (mirror / "Stations-0001").mkdir()
    (mirror / "Stations-0001" / "rows.csv").write_text("height\n1\n")
    imported = import_suite(suite, tmp_path / "out", data=Mirror(mirror))
    assert imported.written == ["Stations-0001", "stations-0002"]
    assert "its name is too like 'Stations-0001'" in str(imported.broken[0])


def test_a_broken_task_does_not_hide_what_the_folder_is(suite: Path, tmp_path: Path) -> None:
    for name in ("stations-0001", "stations-0002"):
        (suite / "tasks" / name / "task.toml").write_text("[a\n")
    assert not is_suite(suite)
    add(suite, "stations-0003")
    assert is_suite(suite)


class FakeBucket:
    """What the Hub's client offers for buckets, over a dictionary."""

    files = {"stations-0001/a.csv": b"a\n1\n", "stations-0001/b/c.csv": b"c\n"}  # noqa: RUF012

    def list_bucket_tree(
        self, bucket_id: str, prefix: str | None = None, recursive: bool | None = None
    ) -> list[Any]:
        assert (bucket_id, recursive) == ("nobody/answers-and-data", True)
        return [
            SimpleNamespace(path=path, size=len(content))
            for path, content in self.files.items()
            if path.startswith(prefix or "")
        ] + [SimpleNamespace(path="stations-0001/b")]

    def download_bucket_files(
        self, bucket_id: str, files: list[tuple[str, Path]], raise_on_missing_files: bool = False
    ) -> None:
        for path, place in files:
            place.write_bytes(self.files[path])


def test_data_from_a_bucket(suite: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.HfApi", FakeBucket)
    imported = import_suite(suite, tmp_path / "out", data=Hub())
    assert imported.written == ["stations-0001"]
    assert "no input files in the bucket" in str(imported.broken[0])
    places = set(original_files(load_tasks(tmp_path / "out")[0][0]))
    assert places == {"/home/user/input/a.csv", "/home/user/input/b/c.csv"}
    monkeypatch.setattr(FakeBucket, "files", {"stations-0001/../../x": b""})
    with pytest.raises(BadInput, match="is no path of an input file"):
        import_suite(suite, tmp_path / "other", data=Hub())


class Unreachable(FakeBucket):
    """It answers so many times, and then the way to it is gone."""

    def __init__(self, answers: int) -> None:
        self._answers = answers

    def list_bucket_tree(self, *args: Any, **options: Any) -> list[Any]:
        from huggingface_hub.errors import HfHubHTTPError

        self._answers -= 1
        if self._answers < 0:
            raise HfHubHTTPError.__bases__[0]("[Errno -2] Name or service not known")
        return super().list_bucket_tree(*args, **options)


def test_a_bucket_that_cannot_be_reached_is_asked_once(
    suite: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = Unreachable(0)
    monkeypatch.setattr("huggingface_hub.HfApi", lambda: client)
    with pytest.raises(MissingPrerequisite, match=r"not known. Without the Hub, .* by --data"):
        import_suite(suite, tmp_path / "out", data=Hub())
    assert client._answers == -1
    assert not (tmp_path / "out").exists()
    client = Unreachable(1)
    imported = import_suite(suite, tmp_path / "out", data=Hub())
    assert imported.written == ["stations-0001"]
    assert "not known" in str(imported.broken[-1])
    assert client._answers == -1


def test_the_hubs_client_has_what_is_used() -> None:
    from inspect import signature

    from huggingface_hub import HfApi

    if not hasattr(HfApi, "list_bucket_tree"):
        pytest.skip("an older huggingface_hub: the import says so")
    assert {"prefix", "recursive"} <= set(signature(HfApi.list_bucket_tree).parameters)
    assert "raise_on_missing_files" in signature(HfApi.download_bucket_files).parameters


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["SUITE", "OUT", "--data", "MIRROR"], 0, "2 qa tasks in "),
        (["SUITE", "OUT", "--data", "nowhere"], 2, "there is no such folder"),
        (["nowhere", "OUT"], 2, "neither a folder nor a dataset's id"),
        (["some/dataset", "OUT"], 2, "not in the cache, and the Hub cannot be reached"),
    ],
)
def test_the_command(
    suite: Path,
    mirror: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    code: int,
    says: str,
) -> None:
    import huggingface_hub.constants

    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    places = {"SUITE": suite, "MIRROR": mirror, "OUT": tmp_path / "out"}
    with pytest.raises(SystemExit) as end:
        main(["tasks", "import", *(str(places.get(one, one)) for one in arguments), "--json"])
    out, err = capsys.readouterr()
    assert int(end.value.code or 0) == code
    assert says in err
    if code == 0:
        found = json.loads(out.splitlines()[-1])
        assert found == {"out": str(tmp_path / "out"), "written": 2, "broken": 0}
