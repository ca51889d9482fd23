"""Fuzzing of what the gateway reads: no crash, no hang, no call that passes unjudged.

Hypothesis mutates streams, replies and requests of all dialects for the stated time; where atheris
is installed, it feeds coverage-guided bytes to the stream readers for the same time besides.

Usage: scripts/claims/fuzz_gateway.py OUT.json [SECONDS]
"""

from __future__ import annotations

import asyncio
import random
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

SECONDS = 600.0
HANG_SECONDS = 5.0
EXAMPLES = 200  # of one target before the next has its turn
ATHERIS_CHILD = "--atheris"


def main(out: Path, seconds: float) -> int:
    # Not at the top: atheris instruments only what its child has not imported before.
    from evidence import write_evidence

    started = time.monotonic()
    coverage_guided = start_atheris(seconds) if find_spec("atheris") else None
    figures, faults = run_hypothesis(seconds)
    guided: dict[str, Any] = {"ran": False, "reason": "atheris is not installed"}
    if coverage_guided is not None:
        guided = end_atheris(coverage_guided, seconds)
        if guided["fault"]:
            faults.append({"target": "atheris", "fault": guided["fault"]})
    took = time.monotonic() - started
    return write_evidence(
        out,
        __file__,
        __doc__,
        holds=not faults and took >= seconds,
        versions=("hypothesis", "orjson"),
        tell={"examples": sum(figures["examples"].values())},
        seconds=round(took, 1),
        hypothesis=figures,
        atheris=guided,
        faults=faults,
    )


# --- hypothesis -----------------------------------------------------------------------------------


def run_hypothesis(seconds: float) -> tuple[dict[str, Any], list[dict[str, str]]]:
    """Rounds over all targets, each with a seed of its own, until the time is over."""
    from scripts.claims.fuzzing.targets import targets

    examples: Counter[str] = Counter()
    faults: list[dict[str, str]] = []
    slowest = 0.0
    end, number = time.monotonic() + seconds, 0
    todo = targets()
    while time.monotonic() < end and todo:
        for name in list(todo):
            number += 1
            made, slow, fault = one_round(todo[name], number)
            examples[name] += made
            slowest = max(slowest, slow)
            if fault:
                faults.append({"target": name, "seed": str(number), "fault": fault})
                del todo[name]  # it would only be found again
    return {"examples": dict(examples), "slowest_cpu_seconds": round(slowest, 3)}, faults


def one_round(target: Callable[[st.DataObject], Any], number: int) -> tuple[int, float, str]:
    """How many examples ran, the most CPU time that one took, and the fault found, or ""."""
    made, slowest = 0, 0.0

    @seed(number)
    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
    )
    @given(st.data())
    def run(data: st.DataObject) -> None:
        nonlocal made, slowest
        made += 1
        begun = time.thread_time()  # not by the clock: other load on the machine is no hang
        asyncio.run(target(data))
        took = time.thread_time() - begun
        slowest = max(slowest, took)
        assert took < HANG_SECONDS, f"one example took {took:.1f} s"

    try:
        run()
    except Exception as error:
        return made, slowest, "".join(traceback.format_exception(error))[-3000:]
    return made, slowest, ""


# --- atheris --------------------------------------------------------------------------------------


def start_atheris(seconds: float) -> tuple[subprocess.Popen[str], tempfile.TemporaryDirectory[str]]:
    """In a process of its own: libFuzzer ends the one that it runs in."""
    from scripts.claims.fuzzing.targets import corpus

    folder = tempfile.TemporaryDirectory(prefix="ha-fuzz-")
    seeds = Path(folder.name, "corpus")
    seeds.mkdir()
    for number, raw in enumerate(corpus()):
        (seeds / str(number)).write_bytes(raw)
    limits = [
        f"-max_total_time={seconds:.0f}",
        f"-timeout={10 * HANG_SECONDS:.0f}",
        "-max_len=16384",
    ]
    process = subprocess.Popen(
        [sys.executable, __file__, ATHERIS_CHILD, str(seeds), *limits, "-print_final_stats=1"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        cwd=folder.name,  # where it leaves what broke
    )
    return process, folder


def end_atheris(
    started: tuple[subprocess.Popen[str], tempfile.TemporaryDirectory[str]], seconds: float
) -> dict[str, Any]:
    process, folder = started
    try:
        _, said = process.communicate(timeout=seconds + 120)
    except subprocess.TimeoutExpired:
        process.kill()
        _, said = process.communicate()
        said += "\nit did not end"
    lines = said.splitlines()
    stats = [line.split() for line in lines if line.startswith("stat::number_of_executed_units")]
    fault = ""
    if process.returncode:
        why = next((n for n, line in enumerate(lines) if "Uncaught Python exception" in line), -12)
        broke = [path.read_bytes().hex() for path in Path(folder.name).glob("crash-*")]
        fault = "\n".join([*lines[why:][:12], *broke])[:4000]
    folder.cleanup()
    runs = int(stats[-1][-1]) if stats else 0
    return {"ran": True, "version": version("atheris"), "runs": runs, "fault": fault}


def atheris_child(arguments: list[str]) -> None:
    import atheris

    with atheris.instrument_imports(include=["harness_adapters.gateway"]):
        from scripts.claims.fuzzing import targets

    loop = asyncio.new_event_loop()

    def one(raw: bytes) -> None:
        loop.run_until_complete(targets.raw_stream(raw))

    atheris.Setup([sys.argv[0], *arguments], one)
    atheris.Fuzz()


if __name__ == "__main__":
    if len(sys.argv) > 2 and sys.argv[1] == ATHERIS_CHILD:
        atheris_child(sys.argv[2:])
    elif len(sys.argv) not in (2, 3):
        sys.exit("usage: scripts/claims/fuzz_gateway.py OUT.json [SECONDS]")
    else:
        random.seed(0)
        sys.exit(main(Path(sys.argv[1]), float(sys.argv[2]) if len(sys.argv) == 3 else SECONDS))
