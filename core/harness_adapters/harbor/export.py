"""Our bundles as folders that Harbor runs."""

from __future__ import annotations

import shutil
import tomllib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from harness_adapters.errors import BadInput, BrokenTask
from harness_adapters.harbor import additions
from harness_adapters.tasks import contents
from harness_adapters.tasks.bundle import load_tasks
from harness_adapters.tasks.dockerfile import MAX_BYTES
from harness_adapters.tasks.globs import matches
from harness_adapters.tasks.new_folder import new_folder
from harness_adapters.tasks.protection import TESTS
from harness_adapters.types import Task

Edit = Callable[[str], str]


@dataclass(frozen=True, kw_only=True)
class Exported:
    """:param written: ids of the tasks.
    :param broken: one error for each that could not be written.
    """

    written: list[str] = field(default_factory=list[str])
    broken: list[BrokenTask] = field(default_factory=list[BrokenTask])


def export_tasks(root: Path, out: Path) -> Exported:
    """Write every task of a set as ``out/<id>``, a folder that Harbor reads, runs and lints clean.

    What is added is marked; ``importer.import_tree`` takes it out again.

    :raises BadInput: ``root`` holds no task, ``out`` is not a new folder, or nothing is left.
    """
    tasks, broken = load_tasks(root)
    written: list[str] = []
    with new_folder(out) as draft:
        for task in tasks:
            folder = draft / task.id
            try:
                _write(task, folder)
                written.append(task.id)
            except BrokenTask as error:
                shutil.rmtree(folder, ignore_errors=True)
                broken.append(error)
        if not written:
            raise BadInput(f"no task could be exported: {broken[0]}")
    return Exported(written=written, broken=broken)


def _write(task: Task, folder: Path) -> None:
    if task.self_graded:
        raise BrokenTask(f"{task.path}: it names no kind of ours; it is a folder of Harbor's as is")
    files = contents.list_files(task.path)
    for relative, path in files.items():
        contents.copy(Path(path), folder / relative)
    _edit(task, folder, "task.toml", lambda text: additions.with_toml(text, task.workdir))
    environment = folder / "environment" / "Dockerfile"
    if not environment.exists():
        environment.parent.mkdir(exist_ok=True)
        environment.write_text(additions.environment_dockerfile(task.workdir))
    elif "user" not in tomllib.loads((task.path / "task.toml").read_text()).get("agent", {}):
        name = "environment/Dockerfile"
        _edit(task, folder, name, lambda text: additions.with_user(text, task.workdir))
    pytest = any(matches(name, TESTS) for name in files if name.startswith("tests/"))
    if pytest and "tests/Dockerfile" not in files:
        try:
            text = additions.tests_dockerfile(environment.read_text(), task.workdir)
        except ValueError as error:
            raise BrokenTask(f"{task.path / 'environment/Dockerfile'}: {error}") from None
        (folder / "tests" / "Dockerfile").write_text(text)


def _edit(task: Task, folder: Path, name: str, edit: Edit) -> None:
    try:
        text = edit(contents.read_text(task.path / name, max_bytes=MAX_BYTES))
    except ValueError as error:
        raise BrokenTask(f"{task.path / name}: {error}") from None
    (folder / name).write_bytes(text.encode())
