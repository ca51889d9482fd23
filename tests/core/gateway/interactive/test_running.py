from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import pytest

from harness_adapters.gateway.interactive.running import (
    Running,
    announced,
    gateways_folder,
    is_running,
    running,
)


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))


def gateway(id: str, started: float = 1.0) -> Running:
    return Running(
        id=id,
        pid=os.getpid(),
        origin="http://127.0.0.1:1",
        url="http://127.0.0.1:1/k/x/s/default",
        admin_key="a",
        upstream="https://api.example",
        project="/p",
        started=started,
    )


def test_a_gateway_is_found_while_it_runs_and_its_keys_are_private() -> None:
    later, sooner = gateway("b", 2.0), gateway("a", 1.0)
    with announced(later), announced(sooner):
        assert running() == [sooner, later]
        assert {path.stat().st_mode & 0o077 for path in gateways_folder().iterdir()} == {0}
        assert gateways_folder().stat().st_mode & 0o077 == 0
    assert running() == [] and not is_running(sooner)
    assert list(gateways_folder().iterdir()) == []


_FOR_EVER = """
import signal
from harness_adapters.gateway.interactive.running import Running, announced
with announced(Running(**{fields!r})):
    print("ready", flush=True)
    signal.pause()
"""


def test_one_that_was_killed_is_no_longer_listed() -> None:
    code = _FOR_EVER.format(fields=asdict(gateway("c")))
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as other:
        assert other.stdout is not None and other.stdout.readline() == b"ready\n"
        assert [one.id for one in running()] == ["c"]
        other.kill()
    assert running() == []
    assert list(gateways_folder().iterdir()) == []


def test_what_is_no_state_file_is_passed_over() -> None:
    with announced(gateway("a")):
        for content in ("", "[]", "{}", '{"id": 1}'):
            (gateways_folder() / "odd.json").write_text(content)
            assert [one.id for one in running()] == ["a"]
