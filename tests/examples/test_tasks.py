"""The shipped tasks: each fails before its solution and passes after it, without any sandbox."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from harness_adapters.tasks.questions import generate, write_bundles

TASKS = Path(__file__).parents[2] / "examples" / "tasks"
REPAIR = sorted(TASKS.glob("repair-*"))
QA = sorted(TASKS.glob("qa-*"))
QA_SEED = 42
# The scripts call ``python3``; here that must be the interpreter that has pytest.
ENVIRONMENT = {
    "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
}


def run(command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        command, cwd=folder, env=ENVIRONMENT, capture_output=True, text=True, timeout=100
    )
    assert done.returncode >= 0, done
    return done


def run_all(jobs: dict[Path, tuple[list[str], Path]]) -> dict[Path, str]:
    """Commands side by side: task -> what each printed."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        started = {task: pool.submit(run, *job) for task, job in jobs.items()}
        return {task: job.result().stdout for task, job in started.items()}


def pytest_results(output: str) -> dict[str, str]:
    """Test id -> PASSED, FAILED or ERROR, from ``pytest -v``."""
    return dict(re.findall(r"^(\S+::.+?) (PASSED|FAILED|ERROR)", output, re.MULTILINE))


VISIBLE = [sys.executable, "-m", "pytest", "-v", "--tb=short", "-p", "no:cacheprovider", "tests"]


def metadata(task: Path) -> dict[str, Any]:
    toml = tomllib.loads((task / "task.toml").read_text())
    ours = toml["metadata"]["harness_adapters"]
    assert isinstance(ours, dict)
    return ours


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> dict[Path, Path]:
    """Task -> its workspace as the agent finds it."""
    folder = tmp_path_factory.mktemp("broken")
    return {
        task: Path(shutil.copytree(task / "environment/repo", folder / task.name))
        for task in REPAIR
    }


@pytest.fixture(scope="module")
def repaired(tmp_path_factory: pytest.TempPathFactory) -> dict[Path, Path]:
    """Task -> its workspace after ``solution/solve.sh``."""
    folder = tmp_path_factory.mktemp("repaired")
    works = {
        task: Path(shutil.copytree(task / "environment/repo", folder / task.name))
        for task in REPAIR
    }
    run_all(
        {task: (["bash", str(task / "solution/solve.sh")], work) for task, work in works.items()}
    )
    return works


@pytest.fixture(scope="module")
def visible_before(broken: dict[Path, Path]) -> dict[Path, str]:
    return run_all({task: (VISIBLE, work) for task, work in broken.items()})


@pytest.fixture(scope="module")
def visible_after(repaired: dict[Path, Path]) -> dict[Path, str]:
    return run_all({task: (VISIBLE, work) for task, work in repaired.items()})


def hidden(works: dict[Path, Path], logs: Path) -> Iterator[tuple[Path, dict[str, str], str]]:
    """Task, results of its hidden tests, and the reward that ``test.sh`` wrote."""
    outputs = run_all(
        {
            task: (["bash", str(task / "tests/test.sh"), str(work), str(logs / task.name)], task)
            for task, work in works.items()
        }
    )
    for task, output in outputs.items():
        yield task, pytest_results(output), (logs / task.name / "reward.txt").read_text().strip()


def test_there_are_eight_repairs_and_sixteen_questions() -> None:
    assert (len(REPAIR), len(QA)) == (8, 16)


@pytest.mark.parametrize("task", [*REPAIR, *QA], ids=lambda task: task.name)
def test_bundles_have_harbors_layout(task: Path) -> None:
    toml = tomllib.loads((task / "task.toml").read_text())
    assert toml["schema_version"] == "1.4"
    assert toml["task"]["name"] == f"harness-adapters/{task.name}"
    assert toml["environment"] == {"allow_internet": False, "workdir": "/work"}
    assert toml["verifier"]["environment_mode"] == "separate"
    for name in ("instruction.md", "environment/Dockerfile"):
        assert (task / name).read_text().strip()
    for name in ("tests/test.sh", "solution/solve.sh"):
        assert os.access(task / name, os.X_OK)
    assert not list(task.rglob("__pycache__")) and not list(task.rglob("*.pyc"))


def test_clusters_are_whole() -> None:
    splits = Counter(metadata(task)["split"] for task in (*REPAIR, *QA))
    assert set(splits) == {"train", "dev", "test"}
    clusters = [metadata(task)["cluster"] for task in (*REPAIR, *QA)]
    assert len(set(clusters)) == 24


def test_instructions_are_unlike() -> None:
    """A scripted engine finds a task by its exact instruction."""
    assert len({(task / "instruction.md").read_text() for task in (*REPAIR, *QA)}) == 24


@pytest.mark.parametrize("task", REPAIR, ids=lambda task: task.name)
def test_one_file_changes_and_it_is_no_test(task: Path) -> None:
    files = [p for p in (task / "solution/files").rglob("*") if p.is_file()]
    (changed,) = (p.relative_to(task / "solution/files") for p in files)
    assert changed.parts[0] == metadata(task)["cluster"]
    before = (task / "environment/repo" / changed).read_text()
    assert before != (task / "solution/files" / changed).read_text()


@pytest.mark.parametrize("task", REPAIR, ids=lambda task: task.name)
def test_the_fault_is_not_in_the_module_that_the_failing_test_names(task: Path) -> None:
    (named,) = re.findall(
        r"tests/(test_\w+\.py)::(test_\w+)", (task / "instruction.md").read_text()
    )
    source = (task / "environment/repo/tests" / named[0]).read_text()
    body = source.split(f"def {named[1]}(")[1].split("\ndef ")[0]
    (changed,) = (p.stem for p in (task / "solution/files").rglob("*.py"))
    assert changed not in body and f".{changed} import" not in body


@pytest.mark.parametrize("task", REPAIR, ids=lambda task: task.name)
def test_the_visible_suite_fails_by_assertion_and_passes_when_repaired(
    task: Path, visible_before: dict[Path, str], visible_after: dict[Path, str]
) -> None:
    before, after = pytest_results(visible_before[task]), pytest_results(visible_after[task])
    failed = [name for name, result in before.items() if result != "PASSED"]
    (named,) = re.findall(r"tests/test_\w+\.py::test_\w+", (task / "instruction.md").read_text())
    assert failed == [named]
    assert before[named] == "FAILED" and "AssertionError" in visible_before[task]
    assert len(before) >= 10
    assert set(after) == set(before) and set(after.values()) == {"PASSED"}


def test_hidden_tests_find_the_fault(broken: dict[Path, Path], tmp_path: Path) -> None:
    for task, results, reward in hidden(broken, tmp_path):
        failed = {name for name, result in results.items() if result != "PASSED"}
        assert failed == set(metadata(task)["repair"]["fail_to_pass"]), task.name
        assert len(results) - len(failed) >= 8, task.name
        assert reward == "0", task.name


@pytest.mark.full  # what the oracle solves, by test_plays, passes them too
def test_hidden_tests_pass_when_repaired(repaired: dict[Path, Path], tmp_path: Path) -> None:
    for task, results, reward in hidden(repaired, tmp_path):
        assert set(results.values()) == {"PASSED"}, (task.name, results)
        assert reward == "1", task.name


def test_repairs_share_one_fixture_and_their_scripts() -> None:
    for name in ("tests/conftest.py", "tests/test.sh", "solution/solve.sh"):
        assert len({(task / name).read_bytes() for task in REPAIR}) == 1


@pytest.mark.parametrize("task", REPAIR, ids=lambda task: task.name)
def test_hidden_tests_reach_the_package_only_through_the_fixture(task: Path) -> None:
    (module,) = (task / "tests").glob("test_*.py")
    assert not re.search(r"^(import|from) ", module.read_text().split('"""')[0], re.MULTILINE)


def test_questions_are_what_their_seed_gives(tmp_path: Path) -> None:
    write_bundles(generate(QA_SEED, 16), tmp_path / "made")
    made = {p.relative_to(tmp_path / "made"): p for p in (tmp_path / "made").rglob("*.*")}
    shipped = {p.relative_to(TASKS): p for task in QA for p in task.rglob("*.*")}
    assert set(made) == set(shipped)
    for name, path in made.items():
        if path.suffix == ".sqlite":  # the layout of pages is up to the library
            assert dump(path) == dump(shipped[name]), name
        else:
            digests = [hashlib.sha256(p.read_bytes()).digest() for p in (path, shipped[name])]
            assert digests[0] == digests[1], name


def dump(path: Path) -> list[str]:
    with closing(sqlite3.connect(path)) as database:
        return list(database.iterdump())


def test_questions_are_varied() -> None:
    files = [p for task in QA for p in (task / "environment/data").iterdir()]
    assert {p.suffix for p in files} == {".csv", ".json", ".sqlite"}
    assert max(p.stat().st_size for p in files) < 50_000
    tomls = [tomllib.loads((task / "task.toml").read_text()) for task in QA]
    families = {toml["metadata"]["family"] for toml in tomls}
    assert families == {"aggregate", "filter", "grouping", "join", "text", "list"}
    assert {metadata(task)["split"] for task in QA} == {"train", "dev", "test"}


def test_solved_questions_score_and_unanswered_ones_do_not(tmp_path: Path) -> None:
    def rewards(name: str) -> dict[str, str]:
        def logs(task: Path) -> Path:
            return tmp_path / name / task.name

        def grading(task: Path) -> list[str]:
            return ["bash", str(task / "tests/test.sh"), str(works[task]), str(logs(task))]

        run_all({task: (grading(task), task) for task in QA})
        return {task.name: (logs(task) / "reward.txt").read_text().strip() for task in QA}

    works = {
        task: Path(shutil.copytree(task / "environment/data", tmp_path / "work" / task.name))
        for task in QA
    }
    assert set(rewards("nop").values()) == {"0"}
    run_all({task: (["bash", str(task / "solution/solve.sh")], works[task]) for task in QA})
    assert set(rewards("oracle").values()) == {"1"}
    for work in works.values():
        (work / "answer.txt").write_text(f"{(work / 'answer.txt').read_text()} or 1\n")
    assert set(rewards("hedged").values()) == {"0"}


@pytest.mark.parametrize("task", QA, ids=lambda task: task.name)
def test_the_expected_answer_is_not_where_the_agent_looks(task: Path) -> None:
    expected = json.loads((task / "tests/expected.json").read_text())
    assert set(expected) == {"type", "value", "abs_tol", "rel_tol"}
    names = {p.relative_to(task / "environment").as_posix() for p in task.rglob("environment/**/*")}
    assert not any("answer" in name or "expected" in name for name in names)
