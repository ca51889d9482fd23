"""A rule's second try ends with the time that it was given, also when nobody is left to end it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import psutil

PARENT = """
import asyncio, os, sys
from harness_adapters import Ledger, TaskPolicy, ToolCall
from harness_adapters.gateway.guard.second_try import judge_in_fresh_process


class Loops:
    def __init__(self, told):
        self.told = told

    def judge(self, call, ledger):
        with open(self.told, "w") as file:
            file.write(str(os.getpid()))
        while True:
            pass


if __name__ == "__main__":
    import killed_parent

    ledger = Ledger(TaskPolicy())
    call = ToolCall(id="c", name="bash", raw="{}", ledger=ledger)
    asyncio.run(judge_in_fresh_process(killed_parent.Loops(sys.argv[1]), call, ledger, seconds=1))
"""


def test_it_ends_after_its_parent_was_killed(tmp_path: Path) -> None:
    (tmp_path / "killed_parent.py").write_text(PARENT)
    told = tmp_path / "told"
    os.mkfifo(told)
    parent = subprocess.Popen([sys.executable, str(tmp_path / "killed_parent.py"), str(told)])
    child = psutil.Process(int(told.read_text()))  # waits until the rule is asked
    parent.kill()
    parent.wait()
    _, alive = psutil.wait_procs([child], timeout=30)
    for one in alive:
        one.kill()
    assert not alive
