"""Folders of Harbor's as bundles that we run: a local tree, or a snapshot of a Hub dataset."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from harness_adapters.errors import BadInput, BrokenTask, first_of
from harness_adapters.harbor import additions
from harness_adapters.tasks import contents
from harness_adapters.tasks.bundle import file_key, load_task, shown, task_folders
from harness_adapters.tasks.dockerfile import MAX_BYTES
from harness_adapters.tasks.new_folder import new_folder

_EXTENDED = ("task.toml", "environment/Dockerfile", "tests/Dockerfile")


@dataclass(frozen=True, kw_only=True)
class Imported:
    """:param written: ids of the tasks.
    :param self_graded: those of them that name no kind of ours.
    :param in_images: those of them that run in their own container image only.
    :param broken: one error for each that could not be had.
    """

    written: list[str] = field(default_factory=list[str])
    self_graded: list[str] = field(default_factory=list[str])
    in_images: list[str] = field(default_factory=list[str])
    broken: list[BrokenTask] = field(default_factory=list[BrokenTask])


def import_tree(
    source: Path, out: Path, *, links: Path | None = None, limit: int | None = None
) -> Imported:
    """Write every task at or below ``source`` as ``out/<id>``, without a ``tasks/`` that all share.

    One that names a kind of ours is as it was before its export; any other stays as it is and is
    self-graded. A task that our sandboxes cannot run is refused, with what it needs.

    :param links: a folder that symbolic links of the tree may lead into, such as a download cache;
        what they show is copied. Without it a link is refused.
    :raises BadInput: there is no task, ``out`` is not a new folder, or nothing could be had.
    """
    folders = task_folders(source)
    if not folders:
        raise BadInput(f"{source}: no task in it (no folder holds a task.toml)")
    inner = source / "tasks"
    root = inner if all(inner in folder.parents for folder in folders) else source
    found = Imported()
    named: dict[str, Path] = {}
    with new_folder(out) as draft:
        for folder in folders[:limit]:
            name = folder.relative_to(root) if folder != root else Path(folder.absolute().name)
            twin = named.setdefault(file_key(name.as_posix()), folder)
            if twin != folder:
                said = f"{folder}: its id is too like that of {twin}; rename one"
                found.broken.append(BrokenTask(said))
                continue
            place = draft / name
            try:
                for relative, path in _files(folder, links):
                    contents.copy(path, place / relative)
                _take_out(place)
                task = load_task(place, draft)
            except BrokenTask as error:
                shutil.rmtree(place, ignore_errors=True)
                said = str(error).replace(str(place), str(folder))
                found.broken.append(BrokenTask(said.replace(shown(place), shown(folder))))
                continue
            found.written.append(task.id)
            if task.self_graded:
                found.self_graded.append(task.id)
            if task.needs_image:
                found.in_images.append(task.id)
        if not found.written:
            raise BadInput(f"no task could be imported: {first_of(found.broken)}")
    return found


def _files(folder: Path, links: Path | None) -> Iterator[tuple[str, Path]]:
    if links is None:
        yield from ((name, Path(path)) for name, path in contents.list_files(folder).items())
        return
    allowed = links.resolve()
    for place, inner, names in os.walk(folder):
        inner[:] = [name for name in inner if not (Path(place) / name).is_symlink()]
        for name in names:
            path = (Path(place) / name).resolve()
            if not path.is_relative_to(allowed) or not path.is_file():
                raise BrokenTask(f"{Path(place) / name}: it is no file of the download")
            yield (Path(place) / name).relative_to(folder).as_posix(), path


def _take_out(folder: Path) -> None:
    """Undo what ``export`` added."""
    for name in _EXTENDED:
        path = folder / name
        if not path.is_file():
            continue
        text = contents.read_text(path, max_bytes=MAX_BYTES)
        before = additions.without(text)
        if before is None:
            path.unlink()
        elif before != text:
            path.write_bytes(before.encode())
    environment = folder / "environment"
    if environment.is_dir() and not any(environment.iterdir()):
        environment.rmdir()
