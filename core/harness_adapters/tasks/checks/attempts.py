"""Made-up attempts at a task, graded as an agent's are: nothing the checks do is special."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import TypeVar

from harness_adapters.errors import InfraError
from harness_adapters.protocols import TaskKind
from harness_adapters.sandbox.base import (
    ExecResult,
    FileEntry,
    Sandbox,
    SandboxProvider,
    SandboxSpec,
)
from harness_adapters.tasks.images import image_for
from harness_adapters.tasks.workspace import (
    MAX_TREE_BYTES,
    original_tree,
    read_folder,
    writable_folders,
)
from harness_adapters.types import Task, Verdict

SOLUTION = "/solution"
ATTEMPT_SECONDS = 60.0
INFRA_RETRIES = 2
VERIFIER_SECONDS = 60.0
"""For attempts that are to score nothing: one that makes the verifier hang need not take all of the
time that an honest one has."""

Tree = Mapping[str, FileEntry]
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """What is done in the workspace, in this order.

    :param tree: replaces the whole working folder; ``None`` leaves it.
    :param files: written over what is there.
    :param script: for ``/bin/sh``, run in the working folder.
    """

    tree: Tree | None = None
    files: Tree = field(default_factory=dict[str, FileEntry])
    script: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Solved:
    """What the bundle's own solution leaves.

    :param tree: the working folder.
    :param ran: of ``solve.sh``.
    """

    tree: Tree
    verdict: Verdict
    ran: ExecResult


class Bench:
    """Grades attempts at one task."""

    def __init__(self, task: Task, kind: TaskKind, sandboxes: SandboxProvider) -> None:
        self.task = task
        self.kind = kind
        self._sandboxes = sandboxes
        self._original: Tree | None = None

    @property
    def original(self) -> Tree:
        """The working folder that an agent starts with; of an image, once one was opened."""
        if self._original is None:
            self._original = original_tree(self.task)
        return self._original

    async def grade(self, attempt: Attempt, *, patient: bool = False) -> Verdict:
        """:param patient: give the verifier the time that the task says.
        :raises InfraError: a fault that is none of the task's, again and again.
        """
        seconds = self.task.limits.verifier_seconds
        if not patient:
            seconds = min(seconds, VERIFIER_SECONDS)
        task = replace(self.task, limits=replace(self.task.limits, verifier_seconds=seconds))

        async def grade() -> Verdict:
            async with self._open({}) as left:
                await self._carry_out(attempt, left)
                await left.freeze()
                return await self.kind.verify(task, left, self._sandboxes)

        return await _tried_again(grade)

    async def solve(self) -> Solved:
        """Run ``solution/solve.sh`` where there is no network, and grade what it leaves.

        :raises InfraError: as ``grade``.
        """
        return await _tried_again(self._solve)

    async def _solve(self) -> Solved:
        solution = read_folder(self.task.path / "solution")
        async with self._open({SOLUTION: MAX_TREE_BYTES}) as left:
            await left.put(solution, at=SOLUTION)
            ran = await left.exec(
                ["bash", left.path(f"{SOLUTION}/solve.sh")],
                cwd=self.task.workdir,
                timeout=self.task.limits.session_seconds,
            )
            await left.freeze()
            tree = await left.read_tree(self.task.workdir, max_bytes=MAX_TREE_BYTES)
            verdict = await self.kind.verify(self.task, left, self._sandboxes)
        return Solved(tree=_without_caches(tree), verdict=verdict, ran=ran)

    @asynccontextmanager
    async def _open(self, more: Mapping[str, int]) -> AsyncIterator[Sandbox]:
        spec = SandboxSpec(
            workdir=self.task.workdir,
            writable={**writable_folders(self.task), **more},
            hidden=(self.task.path,),
            environment=self.task.environment,
            image=image_for(self.task, self._sandboxes),
        )
        async with self._sandboxes.open(spec) as left:
            await self.kind.prepare(self.task, left)
            if spec.image and self._original is None:
                self._original = await left.read_tree(self.task.workdir, max_bytes=MAX_TREE_BYTES)
            yield left

    async def _carry_out(self, attempt: Attempt, left: Sandbox) -> None:
        if attempt.tree is not None:
            await left.exec(["find", ".", "-mindepth", "1", "-delete"], timeout=ATTEMPT_SECONDS)
            await left.put(attempt.tree, at=self.task.workdir)
        if attempt.files:
            await left.put(attempt.files, at=self.task.workdir)
        if attempt.script:
            await left.exec(["/bin/sh", "-c", attempt.script], timeout=ATTEMPT_SECONDS)


async def _tried_again(work: Callable[[], Awaitable[T]]) -> T:
    """Like a rollout: what the machine spoils is done again."""
    for _ in range(INFRA_RETRIES):
        with suppress(InfraError):
            return await work()
    return await work()


def text(content: str) -> FileEntry:
    return FileEntry(content=content.encode())


def _without_caches(tree: Tree) -> Tree:
    return {path: entry for path, entry in tree.items() if "__pycache__" not in path.split("/")}
