"""Writing a suite as bundles of ours, whole or not at all."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path

from harness_adapters.errors import BadInput, BrokenTask, MissingPrerequisite, first_of
from harness_adapters.tasks.new_folder import new_folder
from harness_adapters.tasks.smoldataenvs.data import DataSource
from harness_adapters.tasks.smoldataenvs.suite import SuiteTask, read_suite, split_of

TOLERANCE = 1e-3  # the published grader's, absolute or relative
WORKDIR = "/workdir"
INPUT = "/home/user/input"

_TOML = """\
schema_version = "1.4"

[task]
name = {name}

[metadata]
difficulty = {difficulty}

[metadata.harness_adapters]
kind = "qa"
cluster = {cluster}
split = "{split}"
editable = []
protected = []
allowed_hosts = []
answer_sources = {sources}
difficulty = {difficulty}
provenance = {provenance}

[metadata.harness_adapters.qa]
answer_file = "answer.txt"

[agent]
timeout_sec = {seconds}

[verifier]
timeout_sec = 120
environment_mode = "separate"

[environment]
allow_internet = false
workdir = "{workdir}"
"""
_DOCKERFILE = f"FROM python:3.11-slim\nCOPY data/ {INPUT}/\nWORKDIR {WORKDIR}\n"
_TEST = f"""\
#!/bin/bash
# Grades the answer and writes the reward, 1 or 0. Usage: test.sh [WORKDIR [LOGDIR]]
set -u
here="$(cd "$(dirname "$0")" && pwd)"
work="${{1:-{WORKDIR}}}"
logs="${{2:-/logs/verifier}}"
mkdir -p "$logs"
python3 -I "$here/grade.py" "$work/answer.txt" "$here/expected.json" > "$logs/reward.txt"
"""
_SOLVE = """\
#!/bin/bash
# The suite has no solutions, only answers.
set -eu
python3 -I "$(dirname "$0")/solve.py"
"""
_ANSWER = """\
from pathlib import Path

Path("answer.txt").write_text({answer!r}, encoding="utf-8")
"""

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, kw_only=True)
class Imported:
    """:param written: names of the bundles.
    :param broken: one error for each task that could not be had.
    """

    written: list[str] = field(default_factory=list[str])
    broken: list[BrokenTask] = field(default_factory=list[BrokenTask])


def import_suite(
    suite: Path,
    out: Path,
    *,
    data: DataSource,
    name: str = "",
    split: str = "",
    limit: int | None = None,
    progress: Progress | None = None,
) -> Imported:
    """Write every task of a suite as ``out/<name>``.

    :param data: where input files come from.
    :param name: the suite's, for provenance; by default the folder's.
    :param split: by default what the suite's name says.
    :raises BadInput: it is no suite, ``out`` is not a new folder, or no task could be had.
    :raises MissingPrerequisite: there is no way to the data, from the first task on.
    """
    name = name or suite.absolute().name
    written: list[str] = []
    with new_folder(out) as draft:
        tasks, broken = read_suite(suite)
        chosen = tasks[:limit]
        for number, task in enumerate(chosen, 1):
            folder = draft / task.name
            try:
                _write(task, folder, data, suite=name, split=split or split_of(name))
                written.append(task.name)
            except BrokenTask as error:
                shutil.rmtree(folder, ignore_errors=True)
                broken.append(error)
            except MissingPrerequisite as error:
                shutil.rmtree(folder, ignore_errors=True)
                if not written:
                    raise
                broken.append(BrokenTask(f"{error}; {len(chosen) - number} more were not tried"))
                break
            if progress is not None:
                progress(task.name, number, len(chosen))
        if not written:
            raise BadInput(f"no task could be imported: {first_of(broken)}")
    return Imported(written=written, broken=broken)


def _write(task: SuiteTask, folder: Path, data: DataSource, *, suite: str, split: str) -> None:
    inputs = folder / "environment" / "data"
    inputs.mkdir(parents=True)
    data.bring(task, inputs)
    sources = [
        f"{INPUT}/{path.relative_to(inputs).as_posix()}"
        for path in sorted(inputs.rglob("*"))
        if path.is_file()
    ]
    expected = {
        "type": "flexible",
        "value": task.gold,
        "abs_tol": TOLERANCE,
        "rel_tol": TOLERANCE,
    }
    toml = _TOML.format(
        name=_quoted(f"{suite}/{task.name}"),
        difficulty=_quoted(task.difficulty),
        cluster=_quoted(task.source),
        split=split,
        sources=json.dumps(sources),
        provenance=_quoted(f"SmolDataEnvs suite {suite}, task {task.name}"),
        seconds=task.seconds,
        workdir=WORKDIR,
    )
    ours = resources.files(__package__) / "bundle_files"
    files = {
        "instruction.md": task.instruction.encode(),
        "task.toml": toml.encode(),
        "environment/Dockerfile": _DOCKERFILE.encode(),
        "tests/test.sh": _TEST.encode(),
        "tests/grade.py": (ours / "grade.py").read_bytes(),
        "tests/expected.json": json.dumps(expected, indent=2).encode() + b"\n",
        "solution/solve.sh": _SOLVE.encode(),
        "solution/solve.py": _ANSWER.format(answer=f"{task.gold}\n").encode(),
    }
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        path.chmod(0o755 if path.suffix == ".sh" else 0o644)


def _quoted(text: str) -> str:
    """As a TOML string."""
    return json.dumps(text)
