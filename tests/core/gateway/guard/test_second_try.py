"""A rule's second try ends with the time that it was given, also when nobody is left to end it."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import psutil

PARENT = """
import asyncio
from harness_adapters import Ledger, TaskPolicy, ToolCall
from harness_adapters.gateway.guard.second_try import judge_in_fresh_process


class Loops:
    def judge(self, call, ledger):
        while True:
            pass


if __name__ == "__main__":
    import killed_parent

    ledger = Ledger(TaskPolicy())
    call = ToolCall(id="c", name="bash", raw="{}", ledger=ledger)
    asyncio.run(judge_in_fresh_process(killed_parent.Loops(), call, ledger, seconds=1))
"""


def test_it_ends_after_its_parent_was_killed(tmp_path: Path) -> None:
    (tmp_path / "killed_parent.py").write_text(PARENT)
    parent = subprocess.Popen([sys.executable, str(tmp_path / "killed_parent.py")])
    deadline = time.monotonic() + 30
    children: list[psutil.Process] = []
    while not children and time.monotonic() < deadline:
        children = psutil.Process(parent.pid).children()
        time.sleep(0.02)
    parent.kill()
    parent.wait()
    assert children
    _, alive = psutil.wait_procs(children, timeout=30)
    for one in alive:
        one.kill()
    assert not alive
