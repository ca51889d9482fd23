from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness_adapters.errors import BrokenTask
from harness_adapters.sandbox.base import FileEntry, SandboxProvider, SandboxSpec
from harness_adapters.sandbox.providers import provider
from harness_adapters.tasks.bundle import load_task
from harness_adapters.tasks.self_graded import SelfGraded, read_reward
from harness_adapters.tasks.workspace import writable_folders
from harness_adapters.types import Verdict

Bundle = Callable[..., Path]


@pytest.mark.parametrize(
    ("files", "reward"),
    [
        ({"reward.txt": b"1\n"}, 1.0),
        ({"reward.txt": b" 0.25 "}, 0.25),
        ({"reward.txt": b"7"}, 1.0),
        ({"reward.txt": b"-1"}, 0.0),
        ({"reward.json": b"0.5", "reward.txt": b"1"}, 0.5),
        ({"reward.json": b'{"reward": 0.5, "speed": 1}'}, 0.5),
        ({"reward.json": b'{"accuracy": 1}'}, 1.0),
    ],
)
def test_rewards(files: dict[str, bytes], reward: float) -> None:
    assert read_reward(files) == reward


@pytest.mark.parametrize(
    "files",
    [
        {},
        {"reward.json": None, "reward.txt": None},
        {"reward.txt": b""},
        {"reward.txt": b"nan"},
        {"reward.txt": b"inf"},
        {"reward.txt": b"1e999"},
        {"reward.txt": b"one"},
        {"reward.txt": b"\xff"},
        {"reward.json": b"NaN", "reward.txt": b"1"},
        {"reward.json": b"", "reward.txt": b"1"},
        {"reward.json": b"{}", "reward.txt": b"1"},
        {"reward.json": b"1e999"},
        {"reward.json": b'"1"'},
        {"reward.json": b"true"},
        {"reward.json": b'{"reward": "1"}'},
        {"reward.json": b'{"a": 1, "b": 1}'},
        {"reward.json": b'{"reward": 0, "reward": 1}'},
        {"reward.json": b"[" * 50_000},
        {"reward.json": b"9" * 5_000},
    ],
)
def test_only_a_finite_number_is_a_reward(files: dict[str, bytes | None]) -> None:
    with pytest.raises((ValueError, OverflowError)):
        read_reward(files)


@given(st.sampled_from(["reward.json", "reward.txt"]), st.binary())
def test_whatever_is_written_is_a_reward_or_refused(name: str, content: bytes) -> None:
    try:
        reward = read_reward({name: content})
    except (ValueError, OverflowError):
        return
    assert 0 <= reward <= 1


TEST = """\
#!/bin/bash
mkdir -p /logs/verifier
if grep -q fixed /work/state.txt; then echo 1 > /logs/verifier/reward.txt
else echo 0 > /logs/verifier/reward.txt; fi
"""


async def graded(folder: Path, state: str, script: str = "true") -> Verdict:
    sandboxes: SandboxProvider = await provider("bubblewrap")
    task, kind = load_task(folder), SelfGraded()
    spec = SandboxSpec(workdir=task.workdir, writable=writable_folders(task))
    async with sandboxes.open(spec) as left:
        await kind.prepare(task, left)
        await left.put({"state.txt": FileEntry(content=state.encode())}, at=task.workdir)
        assert (await left.exec(["sh", "-ec", script])).returncode == 0
        await left.freeze()
        return await kind.verify(task, left, sandboxes)


async def test_the_tasks_own_script_grades_in_a_fresh_sandbox(bundle: Bundle) -> None:
    folder = bundle({"task.toml": "", "tests/test.sh": TEST})
    right, wrong = await graded(folder, "fixed"), await graded(folder, "broken")
    assert (right.passed, right.score, right.self_graded) == (True, 1.0, True)
    assert (wrong.passed, wrong.score, wrong.self_graded) == (False, 0.0, True)
    assert not wrong.broke_verifier


@pytest.mark.parametrize(
    ("test", "detail"),
    [
        ("exit 0", "no reward was written"),
        ("echo nan > /logs/verifier/reward.txt", "no finite number"),
        ("mkdir /logs/verifier/reward.json; echo 1 > /logs/verifier/reward.txt", ""),
        ("ln -s /etc/passwd /logs/verifier/reward.txt", ""),
        ("head -c 100000 /dev/zero > /logs/verifier/reward.txt", ""),
        ("sleep 60", "took longer than 3 s"),
        ("kill -9 $PPID; kill -9 -1; exit 0", ""),
    ],
)
async def test_no_reward_is_a_zero(bundle: Bundle, test: str, detail: str) -> None:
    toml = "[verifier]\ntimeout_sec = 3\n"
    verdict = await graded(bundle({"task.toml": toml, "tests/test.sh": test}), "fixed")
    assert (verdict.score, verdict.broke_verifier, verdict.self_graded) == (0.0, True, True)
    assert detail in verdict.detail


async def test_what_an_agent_planted_is_gone(bundle: Bundle) -> None:
    folder = bundle({"task.toml": "", "tests/test.sh": TEST})
    script = "(sleep 30; echo fixed > state.txt) & echo 1 > /tmp/reward.txt; ln -s /tmp x"
    assert (await graded(folder, "broken", script)).score == 0


async def test_files_outside_the_working_folder_are_there_for_the_script(bundle: Bundle) -> None:
    folder = bundle(
        {
            "task.toml": "",
            "environment/data/a.txt": "fixed",
            "environment/Dockerfile": "FROM x\nWORKDIR /app\nCOPY data /data\nCOPY repo /app\n",
            "tests/test.sh": "cmp -s state.txt /data/a.txt && echo 1 > /logs/verifier/reward.txt "
            "|| echo 0 > /logs/verifier/reward.txt\n",
        }
    )
    assert (await graded(folder, "fixed")).score == 1
    assert (await graded(folder, "broken")).score == 0


def test_a_task_that_claims_to_grade_itself_needs_its_script(bundle: Bundle) -> None:
    task = load_task(bundle({"task.toml": ""}))
    (task.path / "tests" / "test.sh").unlink()
    with pytest.raises(BrokenTask, match=r"test.sh: a self-graded task needs it"):
        SelfGraded().check(task)
