"""P11: how long ``ha gateway start`` takes until it serves, and what it holds then."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from statistics import median

from harness_adapters.bench.child import Child
from harness_adapters.bench.goals import Result
from harness_adapters.bench.rounds import Bench

MEGABYTE = 1024 * 1024
_HA = "import sys; from harness_adapters.cli import main; main(sys.argv[1:])"
_FOLDERS = ("XDG_STATE_HOME", "XDG_CONFIG_HOME")


def cold_start(bench: Bench, scale: float) -> Result:
    """Beside it, in place of a direct run: an interpreter that imports nothing of ours."""
    seconds, held, bare = [], [], []
    for _ in range(bench.rounds):
        begun = time.perf_counter()
        subprocess.run([sys.executable, "-c", "pass"], check=True)
        bare.append(time.perf_counter() - begun)
        with tempfile.TemporaryDirectory(prefix="ha-bench-") as scratch:
            command = [sys.executable, "-c", _HA, "gateway", "start", bench.engine.url]
            places = dict.fromkeys(_FOLDERS, scratch)
            begun = time.perf_counter()
            gateway = Child([*command, "--project", scratch, "--json"], places)
            try:
                seconds.append(time.perf_counter() - begun)
                held.append(gateway.resident_bytes() / MEGABYTE)
            finally:
                gateway.interrupt()
    return Result(
        title="cold start of ha gateway start",
        value={"start_s": median(seconds), "memory_mb": median(held)},
        goal={"start_s": 1.2, "memory_mb": 70.0},
        direct={"python_s": median(bare)},
        scale=scale,
    )
