"""What is made to hold the guard up is judged, or refused, within 50 ms: texts of 20 to 120 KB in
every shape of call, all rules on, after a session that has seen a test.

    scripts/evidence guard_hostile

The texts are those of tests/plugins/guards/test_hostile.py and of
tests/core/gateway/guard/test_bounds.py, which hold what once took seconds. Counted is the CPU time
of the thread, the best of three, as other load on the machine changes it little.
"""

from __future__ import annotations

import asyncio
import importlib.util
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from types import ModuleType
from typing import Any

from evidence import write_evidence

from harness_adapters import Ledger, Plugins, ToolCall
from harness_adapters.parts import make_guard

TESTS = Path(__file__).resolve().parents[2] / "tests"
LIMIT_MS = 50.0
SLOWEST = 12  # that are listed


def main(out: Path) -> int:
    guard = make_guard(Plugins.load())
    hostile = module(TESTS / "plugins" / "guards" / "test_hostile.py")
    ledger: Ledger = hostile.session()
    took: list[tuple[float, str, str]] = []
    for name, tool, arguments in calls(hostile):
        raw = json.dumps(arguments)
        times, decision = [], ""
        for _ in range(3):
            call = ToolCall(id="c", name=tool, raw=raw, ledger=ledger)
            begun = time.thread_time()
            judgement = asyncio.run(guard.judge(call, ledger))
            times.append(1e3 * (time.thread_time() - begun))
            decision = judgement.decision.value
            if judgement.faults:
                raise RuntimeError(f"{name}: {judgement.faults[0]}")
        took.append((min(times), name, decision))
    took.sort(reverse=True)
    slow = [one for one in took if one[0] > LIMIT_MS]
    return write_evidence(
        out,
        __file__,
        __doc__,
        holds=not slow,
        versions=("tree-sitter", "tree-sitter-bash", "atif-scan"),
        tell={"slower_than_50_ms": len(slow)},
        calls=len(took),
        median_ms=round(median(ms for ms, _, _ in took), 2),
        slowest_ms=round(took[0][0], 1),
        slower_than_50_ms=len(slow),
        slowest=[
            {"ms": round(ms, 1), "call": name, "decision": decision}
            for ms, name, decision in took[:SLOWEST]
        ],
    )


def calls(hostile: ModuleType) -> Iterator[tuple[str, str, Any]]:
    """Its name, the tool and its arguments."""
    bounds = module(TESTS / "core" / "gateway" / "guard" / "test_bounds.py")
    for name, text in hostile.TEXTS.items():
        for number, (tool, arguments) in enumerate(hostile.calls(text)):
            yield f"{name}, {tool} {number}", tool, arguments
    for name, text in bounds.SHELL.items():
        yield f"shell: {name}", "bash", {"command": text}
    for name, text in bounds.CODE.items():
        yield f"Python: {name}", "execute_code", {"code": text}
    for size in (1024 * 1024, 2 * 1024 * 1024):
        yield f"{size} letters", "bash", {"command": "a" * size}
    yield "nested parentheses", "bash", {"command": "(" * 10_000 + ")" * 10_000}


def module(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = found
    spec.loader.exec_module(found)
    return found


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: scripts/claims/guard_hostile.py OUT.json")
    sys.exit(main(Path(sys.argv[1])))
