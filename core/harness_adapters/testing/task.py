"""The contract of a task kind, kept on a bundle of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import pytest

from harness_adapters.errors import BadInput, BrokenTask
from harness_adapters.plugins import Plugins
from harness_adapters.protocols import Options, TaskKind
from harness_adapters.sandbox.base import FileEntry, SandboxSpec
from harness_adapters.tasks.bundle import load_task
from harness_adapters.tasks.workspace import original_tree, read_folder, writable_folders
from harness_adapters.testing.session import best_provider
from harness_adapters.types import Task, Verdict

Grade = Callable[..., Verdict]
_HOSTILE_SECONDS = 6.0  # a tree that hangs is waited for this long
_HOSTILE = {
    "nothing is left": "rm -rf ./* ./.[!.]*",
    "links and pipes": "ln -s / root; ln -s loop loop; mkfifo pipe; for f in $(find . -type f | "
    'head -50); do ln -sf /etc/passwd "$f"; done',
    "every file is nonsense": "find . -type f | while read -r f; do head -c 3000 /dev/urandom "
    '> "$f"; done',
    "every program exits": "find . -name '*.py' | while read -r f; do "
    "printf 'import os\\nos._exit(0)\\n' > \"$f\"; done",
    "every program hangs": "find . -name '*.py' | while read -r f; do "
    "printf 'while True: pass\\n' > \"$f\"; done",
    "a planted reward": "mkdir -p logs/verifier; echo 1 > reward.txt; "
    "echo '{\"reward\": 1}' | tee reward.json > logs/verifier/reward.json",
    "strange names": "touch \"$(printf 'a\\nb')\" \"$(printf '\\377')\" -- '-rf' ' '",
}


class TaskKindContract:
    """A kind that hides tests and solution, scores the oracle in full, and survives any tree.

    Mandatory: every test, unless listed here. Optional, by what the class names:

    * ``bundle``: a task folder of this kind with a ``solution/solve.sh``, which is run in the
      working folder. Without one only the tests of options are run.
    * ``broken``: changes to the bundle's files that ``check`` must refuse, by a name of their own.

    :cvar name: the kind's registered name.
    """

    name: ClassVar[str]
    options: ClassVar[Options] = {}
    bundle: ClassVar[Path | None] = None
    broken: ClassVar[Mapping[str, Mapping[str, str]]] = {}

    @pytest.fixture
    def kind(self) -> TaskKind:
        return Plugins.load().tasks.create(self.name, self.options)

    @pytest.fixture
    def task(self) -> Task:
        if self.bundle is None:
            pytest.skip("optional: the class names no bundle")
        return load_task(self.bundle)

    @pytest.fixture
    def grade(self, kind: TaskKind, task: Task) -> Grade:
        """``grade(script)``: what an agent that runs a shell script in the workspace gets, from a
        verifier with little time; ``grade(oracle=True)``: what the bundle's own solution gets."""

        def grade(script: str = "", *, oracle: bool = False) -> Verdict:
            seconds = _HOSTILE_SECONDS if script else task.limits.verifier_seconds
            limits = replace(task.limits, verifier_seconds=seconds)
            return asyncio.run(_graded(kind, replace(task, limits=limits), script, oracle=oracle))

        return grade

    def test_it_refuses_an_unknown_option(self) -> None:
        with pytest.raises(BadInput):
            Plugins.load().tasks.create(self.name, {**self.options, "no_such_option": 1})

    def test_its_bundle_is_of_this_kind_and_passes_its_check(
        self, kind: TaskKind, task: Task
    ) -> None:
        assert task.kind == self.name
        kind.check(task)

    def test_check_refuses_an_unknown_option_of_a_task(self, kind: TaskKind, task: Task) -> None:
        with pytest.raises(BrokenTask):
            kind.check(replace(task, options={**task.options, "no_such_option": 1}))

    def test_check_refuses_a_broken_bundle(
        self, kind: TaskKind, task: Task, tmp_path: Path
    ) -> None:
        """Optional: ``broken``."""
        if not self.broken:
            pytest.skip("optional: the class names no broken bundles")
        for number, (why, changes) in enumerate(self.broken.items()):
            folder = tmp_path / str(number)
            _write(folder, {**read_folder(task.path), **_entries(changes)})
            with pytest.raises(BrokenTask):
                kind.check(load_task(folder))
                pytest.fail(f"check let pass: {why}")

    def test_its_policy_is_sane(self, kind: TaskKind, task: Task) -> None:
        policy = kind.policy(task)
        assert policy == kind.policy(task)
        assert policy.workdir == task.workdir
        assert all(root.startswith("/") for root in policy.protected_roots)
        assert not any(task.workdir.startswith(root) for root in policy.protected_roots)
        relative = (*policy.editable, *policy.protected)
        assert not any(glob.startswith("/") or ".." in glob.split("/") for glob in relative)
        mine = replace(task, metadata=replace(task.metadata, editable=("only/this.py",)))
        assert "only/this.py" in kind.policy(mine).editable, "a task's own globs must count"

    def test_the_agent_cannot_see_tests_or_solution(self, kind: TaskKind, task: Task) -> None:
        async def visible() -> dict[str, FileEntry]:
            sandboxes = await best_provider()
            async with sandboxes.open(_spec(task)) as sandbox:
                await kind.prepare(task, sandbox)
                return await sandbox.read_tree(task.workdir, max_bytes=1 << 28)

        given = set(original_tree(task))
        hidden = [
            entry.content
            for folder in ("tests", "solution")
            for entry in read_folder(task.path / folder).values()
        ]
        for name, entry in asyncio.run(visible()).items():
            if name not in given and entry.content:
                assert entry.content not in hidden, f"{name} shows what is to stay hidden"

    def test_the_oracle_scores_in_full(self, grade: Grade) -> None:
        verdict = grade(oracle=True)
        assert (verdict.passed, verdict.score) == (True, 1.0), verdict
        assert not verdict.broke_verifier

    def test_doing_nothing_scores_nothing(self, grade: Grade) -> None:
        verdict = grade()
        assert (verdict.passed, verdict.score) == (False, 0.0), verdict
        assert grade() == verdict, "the same tree must get the same verdict"

    @pytest.mark.parametrize("tree", _HOSTILE)
    def test_a_hostile_tree_gets_a_verdict(self, grade: Grade, tree: str) -> None:
        """Never an exception: that would be an infrastructure fault, and tried again."""
        verdict = grade(_HOSTILE[tree])
        assert (verdict.passed, verdict.score) == (False, 0.0), verdict


async def _graded(kind: TaskKind, task: Task, script: str, *, oracle: bool) -> Verdict:
    sandboxes = await best_provider()
    async with sandboxes.open(_spec(task)) as left:
        await kind.prepare(task, left)
        if oracle:
            await left.put(read_folder(task.path / "solution"), at="/tmp/solution")
            script = f"exec bash {left.path('/tmp/solution')}/solve.sh"
        if script:
            ran = await left.exec(["/bin/sh", "-c", script], cwd=task.workdir)
            assert ran.returncode == 0 or not oracle, ran.stderr
        await left.freeze()
        return await kind.verify(task, left, sandboxes)


def _spec(task: Task) -> SandboxSpec:
    return SandboxSpec(workdir=task.workdir, writable=writable_folders(task))


def _entries(texts: Mapping[str, str]) -> dict[str, FileEntry]:
    return {name: FileEntry(content=text.encode()) for name, text in texts.items()}


def _write(folder: Path, files: Mapping[str, FileEntry]) -> None:
    for name, entry in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(entry.content)
