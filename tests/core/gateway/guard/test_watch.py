"""Stopping a rule leaves nothing behind in the process that it ran in."""

from __future__ import annotations

import subprocess
import sys

TRACED_AFTERWARDS = """
import sys
from harness_adapters.gateway.guard.watch import Overrun, watched

def loops():
    while True:
        pass

try:
    watched(loops)
except Overrun as stopped:
    print(stopped)

def trace(frame, event, argument):
    return trace

def one():
    return 1

sys.settrace(trace)
print(sum(one() for _ in range(100)))
"""


def test_after_a_stop_the_process_still_runs_under_a_tracer() -> None:
    done = subprocess.run(
        [sys.executable, "-c", TRACED_AFTERWARDS], capture_output=True, text=True, timeout=100
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "100"
