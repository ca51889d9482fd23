# ruff: noqa: E501
from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from harness_adapters.errors import BadInput, BrokenTask
from harness_adapters.tasks.bundle import load_task, load_tasks
from harness_adapters.tasks.self_graded import SELF_GRADED

Bundle = Callable[..., Path]


def test_a_task_of_ours(bundle: Bundle) -> None:
    folder = bundle()
    task = load_task(folder)
    assert task.id == "cart"
    assert task.instruction == "Fix the total of a cart.\n"
    assert (task.kind, task.metadata.cluster, task.metadata.split) == ("repair", "shop", "train")
    assert task.metadata.difficulty == "easy"
    assert task.workdir == "/work"
    assert task.files == {"/work": folder / "environment/repo"}
    assert task.options == {"fail_to_pass": ["test_cart.py::test_total"]}
    assert (task.limits.session_seconds, task.limits.verifier_seconds) == (60, 30)
    assert not task.self_graded


def test_ids_are_paths_in_the_set_and_unreadable_tasks_are_counted(
    bundle: Bundle, tmp_path: Path
) -> None:
    bundle(at="set/b/two")
    bundle(at="set/one")
    bundle({"instruction.md": None}, at="set/c")
    bundle({"task.toml": "kind =\n"}, at="set/d")
    bundle(at="set/.cache/hidden")
    bundle(at="set/one/environment/repo/inner")  # part of another task, no task of the set
    tasks, broken = load_tasks(tmp_path / "set")
    assert [task.id for task in tasks] == ["b/two", "one"]
    assert [str(error).split(": ")[0] for error in broken] == [
        f"{tmp_path}/set/c/instruction.md",
        f"{tmp_path}/set/d/task.toml",
    ]


def test_a_set_may_be_one_task(bundle: Bundle) -> None:
    tasks, broken = load_tasks(bundle())
    assert ([task.id for task in tasks], broken) == (["cart"], [])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda path: None, "there is no such folder"),
        (lambda path: path.write_text(""), "not a folder"),
        (lambda path: path.mkdir(), "no task in it"),
    ],
)
def test_no_set_at_all(tmp_path: Path, make: Callable[[Path], object], message: str) -> None:
    make(tmp_path / "set")
    with pytest.raises(BadInput, match=message):
        load_tasks(tmp_path / "set")


@pytest.mark.parametrize(
    ("line", "new", "message"),
    [
        ("split =", "splitt =", "[metadata.harness_adapters] unknown field 'splitt'; did you mean 'split'?"),
        ('"train"', '"training"', "[metadata.harness_adapters] split: Input should be 'train', 'dev' or 'test'"),
        ('cluster = "shop"', "", "[metadata.harness_adapters] cluster: Field required"),
        ('kind = "repair"', "", "[metadata.harness_adapters] kind: Field required"),
        ('kind = "repair"', "kind = 7", "[metadata.harness_adapters] kind: Input should be a valid string"),
        (".repair]", ".repare]", "[metadata.harness_adapters] unknown field 'repare'; did you mean 'repair'?"),
        ("timeout_sec = 60", "timeout_sec = -1", "[agent] timeout_sec: Input should be greater than 0"),
        ("timeout_sec = 30", "timeout_sec = inf", "[verifier] timeout_sec: Input should be a finite number"),
        ("allow_internet = false", 'workdir = "work"', "[environment] workdir: 'work' is not an absolute folder"),
        ("allow_internet = false", 'workdir = "/a/../.."', "[environment] workdir: '/a/../..' is not an absolute folder"),
        ("[agent]", "[agent", "not valid TOML: Expected ']' at the end of a table declaration (at line 12, column 7)"),
    ],
)  # fmt: skip
def test_a_bad_field_is_named_with_its_file(
    bundle: Bundle, task_toml: str, line: str, new: str, message: str
) -> None:
    assert line in task_toml
    folder = bundle({"task.toml": task_toml.replace(line, new)})
    with pytest.raises(BrokenTask) as caught:
        load_task(folder)
    assert message in str(caught.value)
    assert str(caught.value).startswith(f"{folder}/task.toml: ")
    assert "\n" not in str(caught.value)


def test_foreign_tables_are_tolerated(bundle: Bundle, task_toml: str) -> None:
    more = '[environment.env]\nTOKEN = "${TOKEN:-}"\n[[steps]]\nname = "a"\n[ours]\nx = 1\n'
    task = load_task(bundle({"task.toml": task_toml + more}))
    assert task.environment == {}  # nothing that the file says of the agent's variables comes in


def test_a_foreign_task_grades_itself(bundle: Bundle) -> None:
    toml = '[metadata]\ndifficulty = "hard"\n[environment]\nworkdir = "/app"\n'
    task = load_task(bundle({"task.toml": toml}))
    assert task.self_graded
    assert (task.kind, task.metadata.cluster) == (SELF_GRADED, "cart")
    assert task.metadata.difficulty == "hard"
    assert task.workdir == "/app"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"task.toml": "", "tests/test.sh": None}, "neither a [metadata.harness_adapters] table"),
        ({"task.toml": "agent = 3"}, "task.toml: agent: must be a table"),
        ({"task.toml": "metadata.harness_adapters = 3"}, "harness_adapters: must be a table"),
        ({"task.toml": None}, "task.toml: there is no such file"),
        ({"instruction.md": " \n"}, "instruction.md: it is empty"),
        ({"instruction.md": b"\xff"}, "instruction.md: not UTF-8 at byte 0"),
        ({"instruction.md": "x" * 300_000}, "instruction.md: larger than"),
        ({"environment/docker-compose.yaml": ""}, "needs docker: several services"),
        ({"environment/.dockerignore": "*"}, "needs docker"),
        (
            {
                "task.toml": '[environment]\ndocker_image = "x"\n',
                "environment/Dockerfile": None,
            },
            "[environment] docker_image: needs docker",
        ),
        ({"environment/Dockerfile": "RUN rm -rf /\n"}, "needs docker: RUN rm at line 1"),
    ],
)
def test_unreadable_bundles(
    bundle: Bundle, changes: dict[str, str | bytes | None], message: str
) -> None:
    with pytest.raises(BrokenTask) as caught:
        load_task(bundle(changes))
    assert message in str(caught.value)


def test_links_and_special_files_are_refused(bundle: Bundle, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("s")
    for at, target in [("a", "/etc/passwd"), ("b", "../../tests/test.sh"), ("c", "Dockerfile")]:
        folder = bundle(at=at)
        (folder / "environment/link").symlink_to(target)
        with pytest.raises(BrokenTask, match="environment/link: a symbolic link"):
            load_task(folder)
    folder = bundle(at="d")
    os.mkfifo(folder / "environment/pipe")
    with pytest.raises(BrokenTask, match="pipe: neither a regular file nor a folder"):
        load_task(folder)


def test_the_hash_covers_every_file_and_nothing_else(bundle: Bundle) -> None:
    one, two = bundle(at="one"), bundle(at="two")
    hashed = load_task(one).sha256
    assert len(hashed) == 64
    assert load_task(two).sha256 == hashed
    (two / "tests/__pycache__").mkdir()
    (two / "tests/__pycache__/x.pyc").write_bytes(b"x")
    assert load_task(two).sha256 == hashed
    (two / "tests/test.sh").chmod(0o755)
    executable = load_task(two).sha256
    assert executable != hashed
    (two / "tests/test.sh").write_text("")
    assert load_task(two).sha256 not in (hashed, executable)


def test_the_made_up_smoldataenvs_task_loads_without_its_gold_in_the_workspace(
    bundle: Bundle, task_toml: str
) -> None:
    toml = """\
schema_version = "1.4"
[metadata]
gold_answer = "12.5"
[environment]
docker_image = "example/env-data-agent:base"
[environment.env]
HF_TOKEN = "${HF_TOKEN:-}"
[verifier]
timeout_sec = 120
[verifier.env]
EXPECTED_ANSWER = "12.5"
"""
    task = load_task(
        bundle({"task.toml": toml, "environment/Dockerfile": "FROM example/env-data-agent:base\n"})
    )
    assert task.self_graded
    assert task.files == {}
    assert "12.5" not in repr(task)


IMAGE = '[environment]\ndocker_image = "example/app:1"\n'
APT = "FROM x AS built\nWORKDIR /src\nFROM x\nRUN apt-get install gcc\nWORKDIR /app\n"


@pytest.mark.parametrize(
    ("toml", "dockerfile", "needs", "workdir"),
    [
        (IMAGE, "FROM x\nCOPY repo/ /app/\nWORKDIR /app\n", "", "/app"),
        (IMAGE, APT, "Dockerfile: needs docker: a second FROM at line 3", "/app"),
        (IMAGE + 'workdir = "/srv/app"\n', APT, "a second FROM at line 3", "/srv/app"),
        (IMAGE + 'workdir = "/app"\n', None, "", "/app"),
    ],
)
def test_a_task_may_have_an_image_of_its_own(
    bundle: Bundle, toml: str, dockerfile: str | None, needs: str, workdir: str
) -> None:
    task = load_task(bundle({"task.toml": toml, "environment/Dockerfile": dockerfile}))
    assert (task.image, task.workdir) == ("example/app:1", workdir)
    assert bool(task.needs_image) == bool(needs)
    assert needs in task.needs_image
    assert bool(task.files) != bool(needs)


def test_all_of_a_workspace_may_be_in_an_image(tmp_path: Path) -> None:
    folder = tmp_path / "task"
    (folder / "tests").mkdir(parents=True)
    (folder / "tests/test.sh").write_text("")
    (folder / "instruction.md").write_text("Do it.\n")
    (folder / "task.toml").write_text(IMAGE + 'workdir = "/app"\n')
    task = load_task(folder)
    assert task.needs_image.endswith("all is in the image")
    (folder / "task.toml").write_text(IMAGE)
    with pytest.raises(BrokenTask, match="all is in the image; to run its docker_image, name a w"):
        load_task(folder)


def test_a_task_of_ours_runs_in_no_image_of_its_own(bundle: Bundle, task_toml: str) -> None:
    toml = task_toml.replace("allow_internet = false", 'docker_image = "x"')
    assert load_task(bundle({"task.toml": toml})).image == ""
    with pytest.raises(BrokenTask, match="needs docker: RUN make at line 2"):
        load_task(bundle({"task.toml": toml, "environment/Dockerfile": "FROM x\nRUN make\n"}))


def test_a_thousand_tasks_load_quickly(bundle: Bundle, tmp_path: Path) -> None:
    first = bundle(at="set/t0000")
    for number in range(1, 1000):
        shutil.copytree(first, tmp_path / f"set/t{number:04}")
    started = time.process_time()
    tasks, broken = load_tasks(tmp_path / "set")
    seconds = time.process_time() - started
    assert (len(tasks), broken) == (1000, [])
    assert seconds < 2, f"{seconds:.2f} s of CPU time"


@pytest.mark.parametrize("name", ["x" * 200, "new\nline", "-dash", ".hidden", "blank name", "ü"])
def test_a_task_id_is_fit_for_file_names(bundle: Bundle, name: str) -> None:
    with pytest.raises(BrokenTask, match="a task's id is its folders' names"):
        load_task(bundle(at=name))


def test_ids_that_would_name_the_same_files_are_refused(bundle: Bundle, tmp_path: Path) -> None:
    bundle(at="set/a/x")
    bundle(at="set/a__x")
    tasks, broken = load_tasks(tmp_path / "set")
    assert [task.id for task in tasks] == ["a/x"]
    assert "too like that of" in str(broken[0])


@pytest.mark.parametrize("workdir", ["/usr", "/proc", "/dev/shm", "/opt/ha/python", "/tests"])
def test_a_working_folder_is_not_where_a_sandbox_has_files_of_its_own(
    bundle: Bundle, workdir: str
) -> None:
    toml = f'[environment]\nworkdir = "{workdir}"\n'
    with pytest.raises(BrokenTask, match=r"workdir.*a sandbox has files of its own there"):
        load_task(bundle({"task.toml": toml, "environment/Dockerfile": None}))
