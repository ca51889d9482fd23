"""A small task of each kind, written on the spot, and what an agent leaves."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

import pytest

from harness_adapters import SandboxSpec, Task, TaskKind, Verdict, load_task
from harness_adapters.sandbox.base import FileEntry, SandboxProvider
from harness_adapters.sandbox.providers import provider
from harness_adapters.tasks.workspace import writable_folders

REPAIR = {
    "instruction.md": "The total of a cart leaves out the first price. Fix it.\n",
    "task.toml": """\
[metadata.harness_adapters]
kind = "repair"
cluster = "shop"
[metadata.harness_adapters.repair]
fail_to_pass = ["test_cart.py::test_total"]
[verifier]
timeout_sec = 60
""",
    "environment/Dockerfile": "FROM debian:12\nCOPY repo/ /work/\nWORKDIR /work\n",
    "environment/repo/shop/__init__.py": "from shop.cart import total\n",
    "environment/repo/shop/cart.py": "def total(prices):\n    return sum(prices[1:])\n",
    "environment/repo/tests/test_total.py": "def test_total(): assert total([1]) == 1\n",
    "environment/repo/conftest.py": "# as it was\n",
    "tests/test.sh": "exit 1\n",
    "tests/test_cart.py": """\
def test_total(subject):
    assert subject.call("shop:total", [3, 4]) == 7

def test_empty(subject):
    assert subject.call("shop:total", []) == 0
""",
}
BUILD = {
    "instruction.md": "Write shop.total and shop.count.\n",
    "task.toml": """\
[metadata.harness_adapters]
kind = "build"
cluster = "shop"
protected = ["CONTRACT.md"]
[verifier]
timeout_sec = 60
""",
    "environment/Dockerfile": "FROM debian:12\nCOPY repo/ /work/\nWORKDIR /work\n",
    "environment/repo/CONTRACT.md": "total(prices), count(prices)\n",
    "environment/repo/tests/test_example.py": "def test_total(): ...\n",
    "tests/test.sh": "exit 1\n",
    "tests/test_shop.py": """\
def test_total(subject):
    assert subject.call("shop:total", [3, 4]) == 7

def test_nothing(subject):
    assert subject.call("shop:total", []) == 0

def test_count(subject):
    assert subject.call("shop:count", [3, 4]) == 2

def test_count_of_nothing(subject):
    assert subject.call("shop:count", []) == 0
""",
}
EXTEND = {
    "instruction.md": "Add shop.count.\n",
    "task.toml": """\
[metadata.harness_adapters]
kind = "extend"
cluster = "shop"
[metadata.harness_adapters.extend]
new_tests = ["test_shop.py::test_count", "test_shop.py::test_count_of_nothing"]
[verifier]
timeout_sec = 60
""",
    "environment/Dockerfile": "FROM debian:12\nCOPY repo/ /work/\nWORKDIR /work\n",
    "environment/repo/shop.py": "def total(prices):\n    return sum(prices)\n",
    "environment/repo/tests/test_total.py": "def test_total(): ...\n",
    "tests/test.sh": "exit 1\n",
    "tests/test_shop.py": BUILD["tests/test_shop.py"],
}
QUESTION = {
    "instruction.md": "What is the mean height in metres? Write it to answer.txt.\n",
    "task.toml": """\
[metadata.harness_adapters]
kind = "qa"
cluster = "stations"
[metadata.harness_adapters.qa]
answer_file = "answer.txt"
""",
    "environment/Dockerfile": "FROM debian:12\nCOPY data/ /work/\nWORKDIR /work\n",
    "environment/data/stations.csv": "name,height\na,12\nb,13\n",
    "tests/test.sh": "exit 1\n",
    "tests/expected.json": json.dumps({"type": "number", "value": 12.5, "abs_tol": 0.05}),
}

Write = Callable[..., Task]
Grade = Callable[..., Awaitable[Verdict]]


def _writer(folder: Path, base: Mapping[str, str]) -> Write:
    def write(changes: Mapping[str, str] | None = None) -> Task:
        for name, content in {**base, **(changes or {})}.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content)
        return load_task(folder)

    return write


@pytest.fixture
def repair_task(tmp_path: Path) -> Write:
    return _writer(tmp_path / "repair", REPAIR)


@pytest.fixture
def build_task(tmp_path: Path) -> Write:
    return _writer(tmp_path / "build", BUILD)


@pytest.fixture
def extend_task(tmp_path: Path) -> Write:
    return _writer(tmp_path / "extend", EXTEND)


@pytest.fixture
def question(tmp_path: Path) -> Write:
    return _writer(tmp_path / "question", QUESTION)


@pytest.fixture
async def sandboxes() -> SandboxProvider:
    return await provider("bubblewrap")


@pytest.fixture
def grade(sandboxes: SandboxProvider) -> Grade:
    """Prepare a task, let an "agent" write files and run a shell script, and verify."""

    async def grade(
        kind: TaskKind, task: Task, *, files: Mapping[str, str] | None = None, script: str = ""
    ) -> Verdict:
        spec = SandboxSpec(workdir=task.workdir, writable=writable_folders(task))
        async with sandboxes.open(spec) as left:
            await kind.prepare(task, left)
            written = {name: FileEntry(content=c.encode()) for name, c in (files or {}).items()}
            await left.put(written, at=task.workdir)
            if script:
                done = await left.exec(["sh", "-ec", script])
                assert done.returncode == 0, done.stderr
            await left.freeze()
            return await kind.verify(task, left, sandboxes)

    return grade
