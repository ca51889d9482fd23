from __future__ import annotations

import ctypes
import subprocess
import sys

import pytest


def test_our_own_processes_look_for_garbage_rarely_and_a_user_s_do_not() -> None:
    code = (
        "import gc, sys; before = gc.get_threshold(); import harness_adapters;"
        "assert gc.get_threshold() == before;"
        "from harness_adapters.cli import main\n"
        "try: main(['--version'])\n"
        "except SystemExit: print(gc.get_threshold()[0])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert int(done.stdout.split()[-1]) >= 10_000, done.stderr


GIVES_BACK = """
import os, sys
from harness_adapters.garbage import give_memory_back

def resident():
    return int(open("/proc/self/statm").read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

if sys.argv[1] == "back":
    give_memory_back()
large = bytes(24 * 1024**2)  # after such a one is freed, glibc by itself keeps 48 MB
del large
before = resident()
many = [b"x" * number for number in range(100_000, 100_400)]
del many
print(resident() - before)
"""


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "mallopt"), reason="not glibc")
def test_freed_memory_goes_back_to_the_system() -> None:
    kept = {}
    for how in ("back", "by itself"):
        done = subprocess.run(
            [sys.executable, "-c", GIVES_BACK, how], capture_output=True, text=True, check=True
        )
        kept[how] = int(done.stdout)
    assert kept["back"] < 8 * 1024**2 < kept["by itself"]
