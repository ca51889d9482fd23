"""Faults that were reported of other trainers and of servers of adapters: each has its tests.

A test names the faults that it covers in its documentation. The ids are those of the collection
that the right behaviours were taken from.
"""

from __future__ import annotations

import ast
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections import defaultdict
from contextlib import closing
from pathlib import Path

import pytest

from harness_adapters.train.names import new_run_id
from harness_adapters.train.store import AdapterStore

TESTS = Path(__file__).resolve().parents[2]
ID = re.compile(r"\bRF\d\d\b")

FAULTS = {
    # staleness
    "RF20": "a session's version is that of its dispatch",
    "RF21": "what is under way and waits stays within the limit, also after a resume",
    "RF22": "doomed groups are cancelled; a session that fails leaves the others of its group",
    "RF23": "no version is ever answered from the cache of another",
    # adapters on a server
    "RF24": "no name is used twice",
    "RF25": "each version is loaded once",
    "RF26": "an adapter that is served as the base is found out",
    "RF27": "every request of a session names its adapter",
    "RF28": "a base that adapters change is found out",
    "RF29": "several trainers on one server: distinct names, and nothing pauses",
    "RF30": "no reader ever sees a part of an adapter",
    # rewards
    "RF37": "what could not be scored is no zero, and in no baseline",
    "RF38": "a logprob that is no number never reaches a trained place",
    "RF39": "a session without turns gives no row, and no step is made of nothing",
    # resume
    "RF40": "each task is visited once per epoch, whatever is killed when",
    "RF41": "after a resume versions go on above every number that was used",
}


def covered() -> dict[str, list[str]]:
    """Fault -> the tests that name it."""
    found: dict[str, list[str]] = defaultdict(list)
    for path in sorted(TESTS.rglob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith(
                "test_"
            ):
                named = [*ID.findall(ast.get_docstring(node) or "")]
                named += [fault.upper() for fault in re.findall(r"_(rf\d\d)_", node.name)]
                for fault in named:
                    found[fault].append(f"{path.relative_to(TESTS)}::{node.name}")
    return found


@pytest.fixture(scope="module")
def tests_by_fault() -> dict[str, list[str]]:
    return covered()


@pytest.mark.parametrize("fault", FAULTS)
def test_each_reported_fault_has_a_test(fault: str, tests_by_fault: dict[str, list[str]]) -> None:
    assert tests_by_fault.get(fault), f"no test names {fault}: {FAULTS[fault]}"


def test_no_version_is_answered_from_the_cache_of_another(tmp_path: Path) -> None:
    """RF23. Servers key their prefix cache by the adapter's name and never forget a block; a run
    that crashes, is resumed and removes versions must not come upon a block of other weights."""
    run, chance = new_run_id(), random.Random(3)
    cache: dict[tuple[str, str], str] = {}
    written = 0
    for _ in range(12):
        with closing(AdapterStore(tmp_path, model="tiny", harness="pi", run=run)) as store:
            for _ in range(chance.randint(1, 6)):
                written += 1
                weights = f"weights-{written}"

                def save(folder: Path, weights: str = weights) -> None:
                    (folder / "adapter_model.safetensors").write_text(weights)

                version = store.add(save, step=written)
                for prompt in ("a", "b"):
                    assert cache.setdefault((version.name, prompt), weights) == weights
                if chance.random() < 0.5:
                    store.remove(version)


WRITER = """
import itertools, sys
from pathlib import Path
from harness_adapters.train.store import AdapterStore

folder, run = Path(sys.argv[1]), sys.argv[2]
store = AdapterStore(folder, model="tiny", harness="pi", run=run)
print("open", flush=True)
for number in itertools.count():
    def save(staged):
        for part in range(20):
            (staged / f"part-{part}").write_bytes(b"x" * 4096)
        (staged / "adapter_model.safetensors").write_bytes(b"whole")
    store.add(save, step=number)
    if number % 3 == 0:
        print(number, flush=True)
"""


def test_a_reader_never_sees_a_part_of_an_adapter(tmp_path: Path) -> None:
    """RF30. The writer is killed at random moments; whatever has a name is whole, at all times."""
    run, chance = new_run_id(), random.Random(5)
    names: set[str] = set()
    for _ in range(6):
        writer = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(tmp_path), run], stdout=subprocess.PIPE
        )
        assert writer.stdout is not None
        try:
            assert writer.stdout.readline() == b"open\n"
            writer.stdout.readline()
            until = time.monotonic() + chance.random() * 0.2
            while time.monotonic() < until:
                names |= whole(tmp_path)
        finally:
            os.kill(writer.pid, signal.SIGKILL)
            writer.wait()
            writer.stdout.close()
        names |= whole(tmp_path)
    assert len(names) >= 6
    with closing(AdapterStore(tmp_path, model="tiny", harness="pi", run=run)) as store:
        version = store.add(lambda folder: None, step=0)
        assert version.name not in names
        assert not list(tmp_path.glob(".*.staged")), "what a crash left is cleared away"


def whole(folder: Path) -> set[str]:
    """Names of the adapters that a server could be told to load now."""
    found = {path.name for path in folder.iterdir() if path.is_dir() and path.name[0] != "."}
    for name in found:
        assert (folder / name / "adapter_model.safetensors").read_bytes() == b"whole"
        assert len(list((folder / name).glob("part-*"))) == 20
        assert (folder / name / "version.json").stat().st_size > 0
    return found
