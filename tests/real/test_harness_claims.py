"""The claims about harnesses, smaller: ``scripts/evidence`` makes them for all harnesses."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from command import ROOT

pytestmark = [pytest.mark.timeout(900)]
BUILT_IN = ("pi", "opencode", "hermes")
full = pytest.mark.full


def claimed(name: str, out: Path, *words: str) -> dict[str, Any]:
    script = ROOT / "scripts" / "claims" / f"{name}.py"
    done = subprocess.run(
        [sys.executable, script, out / "out.json", *words], capture_output=True, text=True
    )
    assert (out / "out.json").exists(), done.stderr
    found: dict[str, Any] = json.loads((out / "out.json").read_text())
    assert found["holds"], found["harnesses"]
    assert done.returncode == 0
    return found


@pytest.mark.parametrize(
    "faults",
    [
        pytest.param(("500 for ever", "arguments cut short"), id="two faults"),
        pytest.param((), id="every fault", marks=full),
    ],
)
@pytest.mark.parametrize(
    "harness", ["pi", *(pytest.param(name, marks=full) for name in BUILT_IN[1:])]
)
def test_each_fault_ends_with_the_right_outcome(
    harness: str, faults: tuple[str, ...], tmp_path: Path
) -> None:
    words = [word for one in faults for word in ("--fault", one)]
    found = claimed("harness_faults", tmp_path, "--harness", harness, *words)
    assert len(found["harnesses"][harness]) == (len(faults) or 13)


@full
@pytest.mark.parametrize("harness", BUILT_IN)
def test_eight_sessions_at_once_do_not_meet(harness: str, tmp_path: Path) -> None:
    found = claimed("harness_crowd", tmp_path, "--harness", harness)
    assert found["harnesses"][harness]["mb_of_all_at_their_peaks"] > 0


@full
@pytest.mark.parametrize("harness", BUILT_IN)
def test_it_connects_to_nothing_but_the_gateway(harness: str, tmp_path: Path) -> None:
    found = claimed("harness_outbound", tmp_path, "--harness", harness)["harnesses"][harness]
    assert found["to_the_gateway"] > 0 and found["elsewhere"] == {}
