"""Questions as task bundles on disk."""

from __future__ import annotations

import json
from collections.abc import Iterable
from importlib import resources
from pathlib import Path

from harness_adapters.tasks.new_folder import new_folder
from harness_adapters.tasks.questions.question import Question

_TOML = """\
schema_version = "1.4"

[task]
name = "harness-adapters/{id}"

[metadata]
difficulty = "{difficulty}"
family = "{family}"

[metadata.harness_adapters]
kind = "qa"
cluster = "{table}"
split = "{split}"
editable = []
protected = []
allowed_hosts = []
answer_sources = {sources}
difficulty = "{difficulty}"
provenance = "{provenance}"

[metadata.harness_adapters.qa]
answer_file = "answer.txt"

[agent]
timeout_sec = 300

[verifier]
timeout_sec = 120
environment_mode = "separate"

[environment]
allow_internet = false
workdir = "/work"
"""


def write_bundle(question: Question, folder: Path) -> None:
    """Write ``question`` as the task bundle ``folder``, which must not exist yet.

    :raises FileExistsError: it does.
    """
    folder.mkdir(parents=True)
    toml = _TOML.format(
        id=question.id,
        table=question.table,
        split=question.split,
        difficulty=question.difficulty,
        family=question.family,
        provenance=question.provenance,
        sources=json.dumps(sorted(question.files)),
    )
    expected = json.dumps(question.answer.as_json(), indent=2) + "\n"
    files: dict[str, bytes] = {
        "instruction.md": question.instruction.encode(),
        "task.toml": toml.encode(),
        "environment/Dockerfile": _shared("Dockerfile"),
        **{f"environment/data/{name}": data for name, data in question.files.items()},
        "tests/test.sh": _shared("test.sh"),
        "tests/grade.py": _shared("grade.py"),
        "tests/expected.json": expected.encode(),
        "solution/solve.sh": _shared("solve.sh"),
        "solution/solve.py": question.solution.encode(),
    }
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        path.chmod(0o755 if path.suffix == ".sh" else 0o644)


def write_bundles(questions: Iterable[Question], out: Path) -> int:
    """Write every question as ``out/<id>``; ``out`` appears whole or not at all.

    :return: how many were written.
    :raises BadInput: ``out`` is a file or a folder that is not empty, or cannot be made.
    """
    written = 0
    with new_folder(out) as draft:
        for question in questions:
            write_bundle(question, draft / question.id)
            written += 1
    return written


def _shared(name: str) -> bytes:
    return (resources.files(__package__) / "bundle_files" / name).read_bytes()
