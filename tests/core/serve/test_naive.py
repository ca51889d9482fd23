"""The cheats are real: in a real sandbox, a grader that does everything wrong pays each in full."""

from __future__ import annotations

import json
from typing import Any

import pytest

from harness_adapters.errors import MissingPrerequisite
from harness_adapters.sandbox.base import Sandbox, SandboxProvider, SandboxSpec
from harness_adapters.sandbox.providers import provider
from harness_adapters.serve.scripted.cheats import CHEATS
from harness_adapters.serve.scripted.conversation import from_chat
from harness_adapters.serve.scripted.plays import parse_play
from harness_adapters.serve.scripted.policy import Policy
from harness_adapters.tasks.workspace import writable_folders
from harness_adapters.testing.naive import NaiveKind, NaiveProvider, mentions, naive_score
from harness_adapters.types import Task

BASH = {
    "type": "object",
    "properties": {"command": {"type": "string"}},
    "required": ["command"],
}
TOOLS = [{"type": "function", "function": {"name": "bash", "parameters": BASH}}]


async def play(play: str, task: Task, sandbox: Sandbox) -> None:
    """A harness that has nothing but a shell."""
    policy = Policy([task], parse_play(play))
    messages: list[dict[str, Any]] = [{"role": "user", "content": task.instruction}]
    while (reply := policy.reply(from_chat({"messages": messages, "tools": TOOLS}))).calls:
        (call,) = reply.calls
        command = json.loads(call.arguments)["command"]
        await sandbox.exec(["bash", "-c", command], cwd=sandbox.path(task.workdir))
        function = {"name": call.name, "arguments": call.arguments}
        messages.append({"role": "assistant", "tool_calls": [{"id": "c", "function": function}]})


async def graded(name: str, task: Task, sandboxes: SandboxProvider) -> float:
    kind = NaiveKind()
    spec = SandboxSpec(workdir=task.workdir, writable=writable_folders(task))
    async with sandboxes.open(spec) as sandbox:
        await kind.prepare(task, sandbox)
        await play(name, task, sandbox)
        await sandbox.freeze()
        return (await kind.verify(task, sandbox, sandboxes)).score


@pytest.fixture
async def sandboxes() -> SandboxProvider:
    try:
        return NaiveProvider(await provider("bubblewrap"))
    except MissingPrerequisite as reason:
        pytest.skip(str(reason))


async def test_honest_work_and_none(repair: Task, qa: Task, sandboxes: SandboxProvider) -> None:
    for task in (repair, qa):
        assert await graded("oracle", task, sandboxes) == 1
        assert await graded("nop", task, sandboxes) == 0


@pytest.mark.full
@pytest.mark.parametrize("cheat", [cheat.name for cheat in CHEATS])
async def test_each_class_scores(
    cheat: str, repair: Task, qa: Task, sandboxes: SandboxProvider
) -> None:
    kinds = next(c.kinds for c in CHEATS if c.name == cheat)
    for task in (task for task in (repair, qa) if task.kind in kinds):
        assert await graded(f"cheat:{cheat}", task, sandboxes) == 1


@pytest.mark.parametrize(
    ("reward", "passed", "score"),
    [
        ('{"reward": 1}', False, 1),
        ('{"reward": 0}', True, 0),
        (None, True, 1),
        (None, False, 0),
        ("", True, 1),
        ("[]", True, 1),
        ("nonsense", False, 0),
    ],
)
def test_a_reward_file_wins(reward: str | None, passed: bool, score: float) -> None:
    assert naive_score(reward=reward, passed=passed) == score


@pytest.mark.parametrize(
    ("answer", "gold", "right"),
    [
        ("It may be 3. It may be 12.50.", 12.5, True),
        ("Lima, or Oslo", ["Oslo", "Lima"], True),
        ("Lima", ["Oslo", "Lima"], False),
        ("", 1, False),
    ],
)
def test_an_answer_is_found_anywhere(answer: str, gold: Any, right: bool) -> None:
    assert mentions(answer, gold) is right
