from __future__ import annotations

import json
import pickle
from typing import Any

import pytest

from harness_adapters import Ledger, TaskPolicy, ToolCall
from harness_adapters.gateway.guard.errors import Unjudgeable


def call(ledger: Ledger, name: str, **arguments: Any) -> ToolCall:
    return ToolCall(id="1", name=name, raw=json.dumps(arguments), ledger=ledger)


def actions(made: ToolCall) -> list[tuple[str, str]]:
    return [
        (
            type(a).__name__,
            str(getattr(a, "path", "") or getattr(a, "name", "") or getattr(a, "text", "")),
        )
        for a in made.actions
    ]


def test_script_written_earlier_is_judged_when_it_runs(ledger: Ledger) -> None:
    """Row X7: the package that the script fetches shows in the call that runs it."""
    script = "pip download --no-deps datelib && unzip -o datelib*.whl -d ."
    ledger.commit(call(ledger, "write", path="/tmp/s.sh", content=script))
    assert ("InstallPackage", "datelib") in actions(call(ledger, "bash", command="bash /tmp/s.sh"))


@pytest.mark.parametrize(
    ("earlier", "now"),
    [
        (("write", {"path": "s.py", "content": "open('/tests/x')"}), "python s.py"),
        (
            ("write", {"path": "s.py", "content": "open('/tests/x')"}),
            "cd / && python3 -u /work/s.py",
        ),
        (("write", {"path": "pkg/s.py", "content": "open('/tests/x')"}), "python -m pkg.s"),
        (("write", {"path": "s", "content": "#!/bin/sh\ncat /tests/x"}), "chmod +x s && ./s"),
        (("bash", {"command": "echo 'cat /tests/x' > s"}), "sh < s"),
        (("bash", {"command": "echo 'cat /tests/x' > s"}), "cat s | bash"),
        (("bash", {"command": "echo 'cat /tests/x' > s"}), "cp s t; mv t u; source u"),
        (("edit", {"path": "s.sh", "oldText": "ls", "newText": "cat /tests/x"}), "bash s.sh"),
        (("bash", {"command": "ln -s /tests t"}), "cat t/x"),
        (("bash", {"command": "ln -s /tests t; ln -s t u"}), "cat u/x"),
        (("bash", {"command": "python -c \"import os; os.symlink('/tests', 't')\""}), "cat t/x"),
    ],
)
def test_what_a_call_left_counts_in_the_next(
    ledger: Ledger, earlier: tuple[str, dict[str, Any]], now: str
) -> None:
    name, arguments = earlier
    assert ("ReadPath", "/tests/x") not in actions(call(ledger, "bash", command=now))
    ledger.commit(call(ledger, name, **arguments))
    assert ("ReadPath", "/tests/x") in actions(call(ledger, "bash", command=now))


def test_a_call_that_is_not_committed_leaves_nothing(ledger: Ledger) -> None:
    _ = call(ledger, "write", path="s.sh", content="cat /tests/x").actions
    assert ledger.files == {}


def test_edit_of_a_written_file_replaces_its_text(ledger: Ledger) -> None:
    ledger.commit(call(ledger, "write", path="s.sh", content="cat /tests/x"))
    ledger.commit(call(ledger, "edit", path="s.sh", oldText="/tests/x", newText="a"))
    assert ("ReadPath", "/tests/x") not in actions(call(ledger, "bash", command="sh s.sh"))


def test_memory_is_bounded_and_what_is_lost_is_not_trusted(ledger: Ledger) -> None:
    for i in range(30):
        ledger.commit(call(ledger, "write", path=f"f{i}.sh", content="ls\n" * 80_000))
    assert sum(len(text or "") for text in ledger.files.values()) <= 4 * 1024 * 1024
    with pytest.raises(Unjudgeable):
        _ = call(ledger, "bash", command="sh f0.sh").actions
    ledger.commit(call(ledger, "write", path="big.sh", content="ls\n" * 100_000))
    with pytest.raises(Unjudgeable):
        _ = call(ledger, "bash", command="sh big.sh").actions


def test_hosts_come_from_system_and_user(ledger: Ledger) -> None:
    ledger.see_request(
        tools={},
        new_messages=[
            {"role": "system", "content": "Docs: https://Docs.example.org/guide."},
            {
                "role": "user",
                "content": [{"type": "text", "text": "see https://u@example.com:8443/x"}],
            },
            {"role": "assistant", "content": "https://evil.example.net"},
            {"role": "tool", "content": "https://evil.example.net"},
        ],
    )
    assert ledger.hosts == {"docs.example.org": "system", "example.com": "user"}


def test_ledger_and_call_travel_to_another_process(ledger: Ledger) -> None:
    ledger.commit(call(ledger, "write", path="s.sh", content="cat /tests/x"))
    copy: Ledger = pickle.loads(pickle.dumps(ledger))
    made = call(copy, "bash", command="sh s.sh")
    assert made.actions == call(ledger, "bash", command="sh s.sh").actions
    assert pickle.loads(pickle.dumps(made)).actions == made.actions


# --- protected places -----------------------------------------------------------------------------

POLICY = TaskPolicy(
    workdir="/work",
    protected=("tests/**", "**/test_*.py", "data.csv"),
    editable=("tests/new/**",),
)


@pytest.mark.parametrize(
    "path",
    [
        "/tests",
        "/tests/a/b",
        "/te*ts/x",
        "/t[e]sts/*",
        "/*/test.sh",
        "/logs/verifier/reward.json",
        "/logs/*",
        "/solution",
        "/**",
        "/work/tests",
        "/work/tests/a.py",
        "/work/te?ts/a.py",
        "/work/**",
        "/work/*/a.py",
        "/work/tests/**",
        "/work/src/test_a.py",
        "/work/test_a.py",
        "/work/src/**/test_*.py",
        "/work/data.csv",
        "/work/*.csv",
        "/w*k/data.csv",
    ],
)
def test_protects(path: str) -> None:
    assert Ledger(POLICY).protects(path)


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/*",
        "/testsuite",
        "/work/mytests/a.py",
        "/work/logs/verifier",
        "/work/src/a.py",
        "/work/src/data.csv",
        "/work/src/**",
        "/work/src/**/*.py",  # all files of a type, wherever: no attack on tests that lie there
        "/work/tests/new/b.py",
        "/work/tests/new/*",
        "/work/*.md",
        "/work/tests/__pycache__/**",
        "/work/**/*.pyc",
        "/work/**/__pycache__/**",
        "/tmp/tests/a.py",
        "/home/agent/test_a.py",
    ],
)
def test_leaves_alone(path: str) -> None:
    assert not Ledger(POLICY).protects(path)


def test_workspace_below_a_root_is_the_workspace() -> None:
    ledger = Ledger(TaskPolicy(workdir="/tests/repo"))
    assert ledger.verifier_root("/tests/repo/a.py") is None
    assert ledger.verifier_root("/solution/a.py") == "/solution"


def test_names_of_roots_in_text(ledger: Ledger) -> None:
    assert ledger.named_root("x(/tests/a)") == (2, 8)
    assert ledger.named_root("see /work/tests, ./tests, a/tests and /tests-old") is None
