"""Reading task bundles: Harbor's folder layout, ours and foreign ones."""

from __future__ import annotations

import os
import posixpath
import re
from dataclasses import replace
from pathlib import Path

from harness_adapters.errors import BadInput, BrokenTask
from harness_adapters.tasks import contents
from harness_adapters.tasks.dockerfile import (
    Image,
    NeedsDocker,
    last_workdir,
    read_dockerfile,
    taken,
)
from harness_adapters.tasks.self_graded import SELF_GRADED
from harness_adapters.tasks.task_toml import OurTable, TaskToml, read_task_toml
from harness_adapters.types import Limits, Task, TaskMetadata

MAX_INSTRUCTION_BYTES = 256 * 1024
MAX_ID = 120
DEFAULT_WORKDIR = "/work"
_ID = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*(?:/[A-Za-z0-9_][A-Za-z0-9._-]*)*")
_COMPOSE = ("docker-compose.yaml", "docker-compose.yml", "compose.yaml", "compose.yml")


def load_task(path: Path | str, root: Path | str | None = None) -> Task:
    """Read one bundle.

    :param root: the set that it belongs to; its id is its path relative to that, else its own name.
    :raises BrokenTask: it cannot be read; the message names file and field.
    """
    path = Path(path)
    files = contents.list_files(path)
    toml = read_task_toml(path / "task.toml")
    if toml.steps and toml.ours is None:
        raise BrokenTask(f"{path / 'task.toml'}: [[steps]] are not run here")
    instruction = contents.read_text(path / "instruction.md", max_bytes=MAX_INSTRUCTION_BYTES)
    if not instruction.strip():
        raise BrokenTask(f"{path / 'instruction.md'}: it is empty")
    if toml.ours is None and "tests/test.sh" not in files:
        raise BrokenTask(
            f"{path / 'task.toml'}: neither a [metadata.harness_adapters] table that names a kind, "
            "nor a tests/test.sh that grades by itself"
        )
    image = _image(path, files, toml)
    task_id = _id(path, root)
    defaults = Limits()
    return Task(
        id=task_id,
        instruction=instruction,
        path=path,
        metadata=_metadata(toml, task_id),
        workdir=_workdir(path, toml, image),
        files=image.files,
        folders=image.folders,
        environment=image.environment,
        image=image.name,
        needs_image=image.needed,
        options=toml.options,
        limits=Limits(
            session_seconds=toml.agent.timeout_sec or defaults.session_seconds,
            verifier_seconds=toml.verifier.timeout_sec or defaults.verifier_seconds,
        ),
        self_graded=toml.ours is None,
        sha256=contents.sha256(files),
    )


def load_tasks(root: Path | str) -> tuple[list[Task], list[BrokenTask]]:
    """Read a set: every folder at or below ``root`` that holds a ``task.toml``, in id order.

    A task that cannot be read is among the broken ones and costs no other.

    :raises BadInput: ``root`` is no readable folder, or holds no task at all.
    """
    root = Path(root)
    try:
        if not root.is_dir():
            wrong = "not a folder" if root.exists() else "there is no such folder"
            raise BadInput(f"{root}: {wrong}")
    except OSError as error:
        raise BadInput(f"{root}: cannot be read ({error.strerror})") from None
    tasks: list[Task] = []
    broken: list[BrokenTask] = []
    named: dict[str, Path] = {}
    for folder in task_folders(root):
        try:
            task = load_task(folder, root)
            twin = named.setdefault(file_key(task.id), folder)
            if twin != folder:
                raise BrokenTask(f"{folder}: its id is too like that of {twin}; rename one")
            tasks.append(task)
        except BrokenTask as error:
            broken.append(error)
    if not tasks and not broken:
        raise BadInput(f"{root}: no task in it (no folder holds a task.toml)")
    return tasks, broken


def file_key(task_id: str) -> str:
    """Equal for ids that may not be in one set: files of a run are named after its tasks, with
    slashes written as two underscores, and some disks do not tell capitals apart."""
    return task_id.replace("/", "__").casefold()


def task_folders(root: Path) -> list[Path]:
    """Every folder at or below ``root`` that holds a ``task.toml``, sorted; none inside another.

    :raises BadInput: a folder cannot be read.
    """

    def refuse(error: OSError) -> None:
        raise BadInput(f"{error.filename}: cannot be read ({error.strerror})")

    found: list[Path] = []
    for folder, inner, files in os.walk(root, onerror=refuse):
        if "task.toml" in files:
            found.append(Path(folder))
            inner.clear()  # what lies inside a bundle is part of it
        inner[:] = [name for name in inner if not name.startswith(".")]
    return sorted(found)


def shown(path: Path) -> str:
    """For a message: without bytes that are no UTF-8."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def _id(path: Path, root: Path | str | None) -> str:
    path = path.absolute()
    if root is None or path == Path(root).absolute():
        found = path.name
    else:
        found = path.relative_to(Path(root).absolute()).as_posix()
    if not _ID.fullmatch(found) or len(found) > MAX_ID:
        raise BrokenTask(
            f"{shown(path)}: a task's id is its folders' names: letters, digits, '.', '_' and '-', "
            f"at most {MAX_ID} in all"
        )
    return found


def _metadata(toml: TaskToml, task_id: str) -> TaskMetadata:
    difficulty = toml.metadata.get("difficulty", "")
    ours = toml.ours
    if ours is None:
        return TaskMetadata(kind=SELF_GRADED, cluster=task_id, difficulty=str(difficulty))
    fields = {name: getattr(ours, name) for name in OurTable.model_fields}
    fields["difficulty"] = ours.difficulty or str(difficulty)
    return TaskMetadata(**fields)


def _image(path: Path, files: dict[str, str], toml: TaskToml) -> Image:
    for name in _COMPOSE:
        if f"environment/{name}" in files:
            raise BrokenTask(f"{path / 'environment' / name}: needs docker: several services")
    # Our kinds run the agent's code with a Python of ours, so in no image of a task's.
    name = "" if toml.ours else toml.environment.docker_image
    try:
        return replace(_without_engine(path, files, toml), name=name)
    except NeedsDocker as error:
        if not name:
            raise
        workdir = toml.environment.workdir
        if not workdir and "environment/Dockerfile" in files:
            workdir = last_workdir(path / "environment" / "Dockerfile")
        if not workdir:
            raise BrokenTask(f"{error}; to run its docker_image, name a workdir") from None
        return Image(name=name, needed=str(error), workdir=workdir)


def _without_engine(path: Path, files: dict[str, str], toml: TaskToml) -> Image:
    """:raises NeedsDocker: what is in the image, only an engine can tell."""
    if "environment/.dockerignore" in files:
        where = path / "environment" / ".dockerignore"
        raise NeedsDocker(f"{where}: needs docker: it is not read here")
    if "environment/Dockerfile" in files:
        return read_dockerfile(path / "environment" / "Dockerfile")
    if not toml.environment.docker_image:
        return Image()
    workdir, context = toml.environment.workdir, path / "environment"
    if not workdir or not any(name.startswith("environment/") for name in files):
        raise NeedsDocker(
            f"{path / 'task.toml'}: [environment] docker_image: needs docker: without a "
            "Dockerfile, or a workdir and files to lay there, all is in the image"
        )
    return Image(workdir=workdir, files={posixpath.normpath(workdir): context})


def _workdir(path: Path, toml: TaskToml, image: Image) -> str:
    workdir = toml.environment.workdir or image.workdir or DEFAULT_WORKDIR
    plain = posixpath.normpath(workdir)
    field = f"{path / 'task.toml'}: [environment] workdir: {workdir!r}"
    if not workdir.startswith("/") or plain in ("/", "//") or ".." in workdir.split("/"):
        raise BrokenTask(f"{field} is not an absolute folder")
    plain = "/" + plain.lstrip("/")
    if taken(plain):
        raise BrokenTask(f"{field}: a sandbox has files of its own there")
    return plain
