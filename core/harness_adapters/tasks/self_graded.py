"""Foreign tasks whose own ``tests/test.sh`` writes the reward."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import PurePosixPath

from harness_adapters.errors import AgentError, BrokenTask, HarnessAdaptersError, InfraError
from harness_adapters.sandbox.base import (
    MIB,
    FileEntry,
    Sandbox,
    SandboxProvider,
    SandboxSpec,
    User,
)
from harness_adapters.tasks.images import image_for
from harness_adapters.tasks.policy import task_policy
from harness_adapters.tasks.subject import conditions
from harness_adapters.tasks.subject.values import strict_loads
from harness_adapters.tasks.workspace import (
    MAX_TREE_BYTES,
    put_files,
    read_folder,
    writable_folders,
)
from harness_adapters.types import Task, TaskPolicy, Verdict

SELF_GRADED = "self-graded"
"""The kind of a task whose ``task.toml`` names none."""

MAX_REWARD_BYTES = 64 * 1024
VERDICT = "/logs/verifier"


class SelfGraded:
    """The ``TaskKind`` of tasks that name none, ``SELF_GRADED``.

    The script runs in a fresh sandbox, so what an agent planted or left running is gone. But it
    runs the agent's code beside itself, and such code can write the reward: every verdict is marked
    ``self_graded``, and such tasks are not trained on unless asked.
    """

    def check(self, task: Task) -> None:
        if not (task.path / "tests" / "test.sh").is_file():
            raise BrokenTask(f"{task.path / 'tests/test.sh'}: a self-graded task needs it")

    def policy(self, task: Task) -> TaskPolicy:
        return task_policy(task)

    async def prepare(self, task: Task, sandbox: Sandbox) -> None:
        await put_files(task, sandbox)

    async def verify(self, task: Task, left: Sandbox, sandboxes: SandboxProvider) -> Verdict:
        try:
            tree = await left.read_tree(task.workdir, max_bytes=MAX_TREE_BYTES)
        except AgentError as error:
            return _broke(str(error))
        verdict: Verdict | None = None
        try:
            async with sandboxes.open(_spec(task, sandboxes)) as fresh:
                try:
                    await put_files(task, fresh, without=task.workdir)
                    await _remove_others(task, fresh, tree)
                    await fresh.put(tree, at=task.workdir)
                except (HarnessAdaptersError, ValueError, OSError) as error:
                    verdict = _broke(f"the tree cannot be put into a fresh sandbox: {error}")
                    return verdict
                await fresh.put(read_folder(task.path / "tests"), at="/tests", user=User.OWNER)
                verdict = await _graded(task, fresh)
                return verdict
        except InfraError:
            if verdict is None:
                raise
            return verdict


def read_reward(files: Mapping[str, bytes | None]) -> float:
    """The reward in ``reward.json`` or else ``reward.txt``, cut to 0..1.

    :param files: name -> content, ``None`` for no such file.
    :raises ValueError: no file, or no finite number in the one that counts.
    """
    if (content := files.get("reward.json")) is not None:
        value = strict_loads(content)
        if isinstance(value, dict):
            numbers = [value["reward"]] if "reward" in value else list(value.values())
            value = numbers[0] if len(numbers) == 1 else None
    elif (content := files.get("reward.txt")) is not None:
        value = float(content.decode())
    else:
        raise ValueError("no reward was written")
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError("the reward is no finite number")
    return min(1.0, max(0.0, float(value)))


async def _graded(task: Task, fresh: Sandbox) -> Verdict:
    try:
        result = await fresh.exec(
            ["bash", fresh.path("/tests/test.sh")], timeout=task.limits.verifier_seconds
        )
        await fresh.freeze()
        if result.timed_out:
            return _broke(f"test.sh took longer than {task.limits.verifier_seconds:g} s")
        files = {
            name: await fresh.read_file(f"{VERDICT}/{name}", max_bytes=MAX_REWARD_BYTES)
            for name in ("reward.json", "reward.txt")
        }
        reward = read_reward(files)
    except (HarnessAdaptersError, ValueError, OverflowError) as error:
        return _broke(str(error))
    return Verdict(passed=reward >= 1.0, score=reward, self_graded=True)


async def _remove_others(task: Task, fresh: Sandbox, tree: Mapping[str, FileEntry]) -> None:
    """What the task's image has in the working folder and the agent has removed or replaced."""
    if not fresh.spec.image:
        return
    there = await fresh.read_tree(task.workdir, max_bytes=MAX_TREE_BYTES)
    folders = {str(folder) for path in there for folder in PurePosixPath(path).parents}
    gone = sorted((there.keys() - tree.keys()) | (folders & tree.keys()))
    names = "".join(f"./{path}\0" for path in gone).encode(errors="surrogateescape")
    done = await fresh.exec(["xargs", "-0", "-r", "rm", "-rf", "--"], stdin=names)
    if done.returncode:
        raise InfraError(f"what the agent removed stays: {done.stderr[:200]!r}")


def _spec(task: Task, sandboxes: SandboxProvider) -> SandboxSpec:
    writable = writable_folders(task) | {
        task.workdir: 2 * MAX_TREE_BYTES,
        "/tests": MAX_TREE_BYTES,
        VERDICT: 64 * MIB,
    }
    return SandboxSpec(
        workdir=task.workdir,
        writable=writable,
        hidden=(task.path,),
        environment={**task.environment, **conditions.current().environment},
        image=image_for(task, sandboxes),
    )


def _broke(detail: str) -> Verdict:
    return Verdict(passed=False, score=0.0, detail=detail, broke_verifier=True, self_graded=True)
