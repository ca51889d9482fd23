from __future__ import annotations

import subprocess
import sys


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
