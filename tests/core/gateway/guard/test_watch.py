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


IN_A_CHILD = """
import os
from harness_adapters.gateway.guard.watch import Overrun, watched

def loops():
    while True:
        pass

print(watched(int, "7"), flush=True)
child = os.fork()
if child == 0:
    try:
        watched(loops)
    except Overrun as stopped:
        print(stopped, flush=True)
    os._exit(0)
os.waitpid(child, 0)
"""


def test_a_child_of_the_process_watches_as_well() -> None:
    done = subprocess.run(
        [sys.executable, "-c", IN_A_CHILD], capture_output=True, text=True, timeout=100
    )
    assert done.stdout.splitlines() == ["7", "no answer within 1 s of processor time"], done.stderr
