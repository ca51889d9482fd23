"""The input files of a task, brought before any agent starts."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any, Protocol

from harness_adapters.errors import BrokenTask, MissingPrerequisite
from harness_adapters.tasks.contents import MAX_BUNDLE_BYTES, list_files
from harness_adapters.tasks.smoldataenvs.suite import SuiteTask


class DataSource(Protocol):
    def bring(self, task: SuiteTask, into: Path) -> int:
        """Put a task's input files into an existing, empty folder; how many there were.

        :raises BrokenTask: they cannot be had, or are too many.
        :raises MissingPrerequisite: no task's can be had.
        """
        ...


class Mirror:
    """A folder on this machine with the bucket's content: ``<prefix>`` or, where the task has
    none, ``<name>`` holds a task's files."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def bring(self, task: SuiteTask, into: Path) -> int:
        names = [part for part in (task.prefix or task.name).split("/") if part not in ("", ".")]
        if ".." in names:
            raise BrokenTask(f"{task.name}: the prefix {task.prefix!r} leaves the bucket")
        source = self._folder.joinpath(*names)
        if not source.is_dir():
            raise BrokenTask(f"{task.name}: no input files: there is no folder {source}")
        files = list_files(source)
        for name, path in files.items():
            place = into / name
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, place)
        if not files:
            raise BrokenTask(f"{task.name}: no input files in {source}")
        return len(files)


class Hub:
    """The bucket itself. The token of whoever imports is used (``HF_TOKEN`` or the one that is
    logged in) and goes nowhere else."""

    def bring(self, task: SuiteTask, into: Path) -> int:
        from huggingface_hub import HfApi
        from huggingface_hub.errors import HfHubHTTPError

        if not task.bucket:
            raise BrokenTask(f"{task.name}: nothing says which bucket holds its input files")
        api: Any = HfApi()
        if not hasattr(api, "list_bucket_tree"):
            raise BrokenTask(f"{task.name}: this huggingface_hub is too old to know buckets")
        try:
            found = [
                entry
                for entry in api.list_bucket_tree(
                    task.bucket, prefix=task.prefix or None, recursive=True
                )
                if getattr(entry, "size", None) is not None
            ]
            if sum(entry.size for entry in found) > MAX_BUNDLE_BYTES:
                raise BrokenTask(f"{task.name}: its input files are more than a bundle may hold")
            wanted = [(entry.path, into / self._inside(task, entry.path)) for entry in found]
            for _, place in wanted:
                place.parent.mkdir(parents=True, exist_ok=True)
            api.download_bucket_files(task.bucket, wanted, raise_on_missing_files=True)
        except BrokenTask:
            raise
        except Exception as error:  # its transport, and so its errors, differ by version
            first = (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")
            said = f"{task.name}: no input files from the bucket {task.bucket}: {first}"
            if isinstance(error, HfHubHTTPError | FileNotFoundError | ValueError):
                raise BrokenTask(said) from None
            raise MissingPrerequisite(
                f"{said}. Without the Hub, name a folder with its files by --data"
            ) from None
        if not wanted:
            raise BrokenTask(f"{task.name}: no input files in the bucket {task.bucket}")
        return len(wanted)

    @staticmethod
    def _inside(task: SuiteTask, path: str) -> Path:
        names = path.removeprefix(task.prefix).split("/")
        names = [name for name in names if name not in ("", ".")]
        if not names or ".." in names:
            raise BrokenTask(f"{task.name}: {path!r} is no path of an input file")
        return Path(*names)
