"""A real training run for tests: recipe, engine process, and what must hold of its folder."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import psutil
from command import HA, TASKS

from harness_adapters.record import log
from harness_adapters.record.folder import read_rollouts
from harness_adapters.train.folder import read_groups, read_steps
from harness_adapters.train.names import AdapterName

RANK = 8
RECIPE = """
model = "{model}"
harness = "{harness}"
steps = {steps}
guards = ["declared-tools", "tamper"]
{more}

[tasks]
path = "{tasks}"
weights = {{ qa = 1, repair = 0 }}
held_out = {{ repository = 0, data = 0 }}

[rollouts]
group_size = 2
min_group = 2
in_flight = {in_flight}
max_output_tokens = {tokens}
temperature = 1.0

[lora]
rank = {rank}

[optimizer]
learning_rate = 1e-2
micro_batches = 1
token_budget = {budget}
dtype = "float32"
gradient_checkpointing = false

[evaluation]
every = {every}
limit = 2

[trackio]
project = "tests"
"""


def write_recipe(
    folder: Path,
    model: Path,
    *,
    steps: int,
    harness: str = "pi",
    more: str = "",
    in_flight: int = 3,
    tokens: int = 512,
    budget: int = 5000,
    every: int = 0,
) -> Path:
    file = folder / f"{harness}.toml"
    file.write_text(
        RECIPE.format(
            model=model,
            steps=steps,
            harness=harness,
            tasks=TASKS,
            more=more,
            in_flight=in_flight,
            tokens=tokens,
            budget=budget,
            every=every,
            rank=RANK,
        )
    )
    return file


@contextmanager
def adapter_engine(model: Path, requests: Path) -> Iterator[str]:
    """Its URL; see ``adapter_engine.py``."""
    script = Path(__file__).with_name("adapter_engine.py")
    server = subprocess.Popen(
        [sys.executable, "-W", "ignore", script, model, TASKS, "--requests", requests],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert server.stdin is not None and server.stdout is not None
    try:
        yield server.stdout.readline().strip()
    finally:
        server.kill()
        server.communicate()  # closes its pipes


@dataclass
class Running:
    """``ha train`` as a person's terminal would run it."""

    process: subprocess.Popen[str]

    def until(self, words: str) -> None:
        """Read its progress until a line holds these words."""
        assert self.process.stderr is not None
        seen = []
        for line in self.process.stderr:
            seen.append(line)
            if words in line:
                return
        raise AssertionError("".join(seen))

    def trainer(self) -> psutil.Process:
        """The process that trains."""
        family = psutil.Process(self.process.pid).children(recursive=True)
        (one,) = [p for p in family if "harness_adapters.train" in p.cmdline()]
        return one

    def end(self) -> tuple[int, dict[str, Any]]:
        out, errors = self.process.communicate()
        lines = out.splitlines()
        return self.process.returncode, json.loads(lines[-1]) if lines else {"errors": errors}


@contextmanager
def running(
    *arguments: str | Path, cwd: Path, env: Mapping[str, str] | None = None
) -> Iterator[Running]:
    own = {"OMP_NUM_THREADS": "1", "TRACKIO_DIR": str(cwd / "trackio")}
    process = subprocess.Popen(
        [*HA, "train", *map(str, arguments), "--json"],
        cwd=cwd,
        env={**os.environ, **own, **(env or {})},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield Running(process)
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
            process.communicate()


async def loaded(url: str) -> list[str]:
    """Adapters that an engine holds."""
    async with aiohttp.ClientSession() as http, http.get(f"{url}/v1/models") as response:
        return [card["id"] for card in (await response.json())["data"] if card.get("parent")]


def check_run(run: Path, *, steps: int) -> None:
    """What must hold of a run folder, whatever happened to its processes."""
    recorded = read_steps(run)
    assert list(recorded) == list(range(1, steps + 1)), "metrics continue without a gap"
    tags = Counter(tuple(row["tag"]) for step in recorded.values() for row in step["rows"])
    assert set(tags.values()) == {1}, "no row is trained twice"
    fates = read_groups(run)
    visits = Counter(fate["task_id"] for fate in fates.values())
    assert max(visits.values()) - min(visits.values()) <= 1, "each task once per epoch"
    versions = [record["number"] for record in log.read(run / "adapters" / "versions.log")]
    assert versions == sorted(set(versions)), "no number is given out twice"
    numbers = {name: AdapterName.parse(name) for name in _models(run)}
    assert all(numbers.values())
    for rollout in read_rollouts(run):
        assert {turn.model for turn in rollout.transcript.turns} <= {rollout.model}
    assert not list((run / "checkpoints" / ".staged").iterdir())
    assert not list((run / "adapters").glob(".*.staged"))


def _models(run: Path) -> set[str]:
    return {rollout.model for rollout in read_rollouts(run)}
