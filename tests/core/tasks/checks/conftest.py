"""Two sound tasks that are quick to check, to be spoiled one way at a time."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

TOML = """\
schema_version = "1.4"
[metadata.harness_adapters]
kind = "{kind}"
cluster = "stations"
[verifier]
timeout_sec = 60
environment_mode = "separate"
[environment]
allow_internet = false
"""
DOCKERFILE = "FROM debian:12\nCOPY data/ /work/\nWORKDIR /work\n"
SOLVE = "set -eu\npython3 -I -c 'print((12 + 13) / 2)' > answer.txt\n"
QUESTION = {
    "instruction.md": "What is the mean height in metres? Write it to answer.txt.\n",
    "task.toml": TOML.format(kind="qa"),
    "environment/Dockerfile": DOCKERFILE,
    "environment/data/stations.csv": "name,height\na,12\nb,13\n",
    "tests/test.sh": "exit 1\n",
    "tests/expected.json": json.dumps({"type": "number", "value": 12.5, "abs_tol": 0.05}),
    "solution/solve.sh": SOLVE,
}
# As somebody else's: its own script reads the answer and writes the reward.
FOREIGN = {
    "instruction.md": QUESTION["instruction.md"],
    "task.toml": "[verifier]\ntimeout_sec = 60\n",
    "environment/Dockerfile": DOCKERFILE,
    "environment/data/stations.csv": QUESTION["environment/data/stations.csv"],
    "tests/test.sh": """\
mkdir -p /logs/verifier
[ "$(cat /work/answer.txt)" = 12.5 ] && echo 1 > /logs/verifier/reward.txt
""",
    "solution/solve.sh": SOLVE,
}

Write = Callable[..., Path]


def writer(folder: Path, base: Mapping[str, str]) -> Write:
    def write(changes: Mapping[str, str] | None = None) -> Path:
        for name, content in {**base, **(changes or {})}.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content)
        return folder

    return write


@pytest.fixture
def question(tmp_path: Path) -> Write:
    return writer(tmp_path / "tasks" / "question", QUESTION)


@pytest.fixture
def foreign(tmp_path: Path) -> Write:
    return writer(tmp_path / "tasks" / "foreign", FOREIGN)
