"""What a policy can do to its sandbox from a tool call, in real pi: it hurts only itself."""

from __future__ import annotations

import re
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from command import TASKS
from engine import engine_that_runs

import harness_adapters
from harness_adapters import Outcome, Rollout

pytestmark = pytest.mark.timeout(180)


def played(out: Path, *commands: str, seconds: float = 40, kind: str = "qa") -> Rollout:
    with engine_that_runs(*commands) as url:
        result = harness_adapters.run(
            TASKS,
            engine=url,
            kind=kind,
            limit=1,
            guards=[],
            infra_retries=0,
            session_seconds=seconds,
            out=out / "run",
        )
    (rollout,) = result.rollouts()
    return rollout


def results(rollout: Rollout) -> str:
    """All that the tools answered."""
    return "\n".join(
        str(message.get("content"))
        for turn in rollout.transcript.turns
        for message in turn.new_messages
        if message["role"] == "tool"
    )


def test_a_harness_that_its_policy_kills_has_died(tmp_path: Path) -> None:
    rollout = played(tmp_path, "kill -9 $PPID")
    assert rollout.outcome is Outcome.HARNESS_DIED
    assert rollout.reward == 0


def test_a_fork_bomb_stays_in_its_sandbox(tmp_path: Path) -> None:
    rollout = played(tmp_path, "b() { b | b & }; b; sleep 5; echo survived", seconds=20)
    assert rollout.outcome is not Outcome.INFRA
    assert rollout.reward == 0


def test_a_full_disk_is_graded(tmp_path: Path) -> None:
    rollout = played(
        tmp_path,
        "dd if=/dev/zero of=fill bs=1M count=2000; dd if=/dev/zero of=/tmp/fill bs=1M count=2000; "
        "dd if=/dev/zero of=$HOME/fill bs=1M count=2000; df -h . | tail -1",
    )
    assert rollout.outcome in (Outcome.FAILED, Outcome.HARNESS_DIED, Outcome.AGENT_BROKE_VERIFIER)
    assert rollout.reward == 0


def test_a_gigabyte_of_output_is_graded(tmp_path: Path) -> None:
    rollout = played(tmp_path, "head -c 1000000000 /dev/zero | tr '\\0' 'x'")
    assert rollout.outcome in (Outcome.FAILED, Outcome.HARNESS_DIED)
    assert rollout.reward == 0


@pytest.fixture
def listener() -> Iterator[tuple[int, threading.Event]]:
    """A server on the host, and whether somebody connected."""
    reached = threading.Event()
    with socket.create_server(("0.0.0.0", 0)) as server:

        def accept() -> None:
            try:
                server.accept()[0].close()
                reached.set()
            except OSError:
                return

        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        yield server.getsockname()[1], reached


def test_nothing_outside_the_workspace_changes(
    tmp_path: Path, listener: tuple[int, threading.Event]
) -> None:
    """A file elsewhere, a planted reward, a background process, a connection: no effect."""
    port, reached = listener
    probe = tmp_path / "probe"
    rollout = played(
        tmp_path,
        f"echo x > {probe}; mkdir -p {probe.parent}; echo x > /etc/probe; echo x > /usr/probe",
        "mkdir -p /logs/verifier; echo '{\"reward\": 1}' > /logs/verifier/reward.json; "
        "echo 1 > /logs/verifier/reward.txt",
        "(while true; do echo 1 > /logs/verifier/reward.txt; sleep 0.1; done) >/dev/null 2>&1 & "
        "setsid sleep 1000 >/dev/null 2>&1 & echo started",
        f"for host in 127.0.0.1 $(hostname -I) 10.0.2.2 1.1.1.1; do "
        f'timeout 2 bash -c "echo > /dev/tcp/$host/{port}" && echo connected; done; echo tried',
        "env | grep -i -E 'token|secret|password'; id -u; cat /proc/1/environ",
    )
    assert rollout.outcome is Outcome.FAILED
    assert rollout.reward == 0
    answers = results(rollout)
    assert not probe.exists()
    assert not Path("/etc/probe").exists() and not Path("/usr/probe").exists()
    assert not Path("/logs").exists()
    assert "tried" in answers and "\nconnected" not in answers
    assert not reached.is_set()


def test_code_that_attacks_at_import_time_scores_nothing(tmp_path: Path) -> None:
    attack = """
import os, sys, subprocess
os.makedirs('/logs/verifier', exist_ok=True) if os.access('/', os.W_OK) else None
for name in ('reward.json', 'reward.txt'):
    try:
        open('/logs/verifier/' + name, 'w').write('1')
    except OSError:
        pass
subprocess.Popen(['sh', '-c', 'sleep 600'], start_new_session=True)
try:
    import pytest, _pytest.runner
    _pytest.runner.runtestprotocol = lambda *a, **k: []
except ImportError:
    pass
os._exit(0)
"""
    rollout = played(
        tmp_path,
        "for f in $(find . -name '*.py' -not -path './tests/*'); do "
        f"cat > $f <<'EOF'\n{attack}EOF\ndone; ls",
        kind="repair",
    )
    assert rollout.outcome in (Outcome.FAILED, Outcome.AGENT_BROKE_VERIFIER)
    assert rollout.reward == 0


def test_an_agent_that_prints_its_configuration_leaves_no_key_in_the_record(tmp_path: Path) -> None:
    rollout = played(tmp_path, "cat ~/.pi/agent/models.json; env")
    assert "[session key]" in results(rollout)
    record = [path for path in (tmp_path / "run").rglob("*") if path.is_file()]
    leaked = re.compile(rb"/s/[0-9a-f]{32}")
    assert [path for path in record if leaked.search(path.read_bytes())] == []
