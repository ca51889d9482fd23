"""Our sandbox as an environment of Harbor's.

::

    harbor run -p tasks -a oracle -e harness_adapters.harbor.environment:SandboxEnvironment
"""

from __future__ import annotations

import os
import posixpath
import shlex
from collections.abc import Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from harbor.environments.base import BaseEnvironment, ExecResult
from harbor.environments.capabilities import (
    EnvironmentCapabilities,
    EnvironmentResourceCapabilities,
)
from harbor.environments.options import EnvironmentOptions

from harness_adapters.errors import BrokenTask
from harness_adapters.sandbox.base import (
    MIB,
    FileEntry,
    ResourceLimits,
    Sandbox,
    SandboxProvider,
    SandboxSpec,
)
from harness_adapters.sandbox.providers import provider
from harness_adapters.tasks.bundle import DEFAULT_WORKDIR
from harness_adapters.tasks.dockerfile import Image, read_dockerfile
from harness_adapters.tasks.workspace import MAX_TREE_BYTES, put_files, writable_folders
from harness_adapters.types import Task, TaskMetadata

MAX_FILE_BYTES = 256 * MIB
_NO_LIMIT = 86_400.0  # seconds; Harbor itself ends what takes too long
# Where Harbor puts its own things, beside the task's folders.
_HARBOR = ("/logs", "/tests", "/solution")
_LOGS = ("/logs/agent", "/logs/verifier", "/logs/artifacts")


class SandboxOptions(EnvironmentOptions):  # type: ignore[misc]
    """``--ek NAME=VALUE``.

    :param sandbox: which of our sandboxes, as ``ha run --sandbox``; one that is a boundary.
    """

    sandbox: str = "bubblewrap"


class SandboxEnvironment(BaseEnvironment):  # type: ignore[misc]
    """A task's environment without a container engine and without a network.

    It reads what ``tasks.dockerfile`` can read of a Dockerfile; what is in the base image is not
    there, the machine's own programs are. There is one user inside and no root: what Harbor runs as
    anybody runs as that user. A task that asks for a network runs, and does not get one.
    """

    options_model = SandboxOptions

    def __init__(self, *args: Any, **options: Any) -> None:
        self._stack = AsyncExitStack()
        self._sandbox: Sandbox | None = None
        super().__init__(*args, **options)

    @staticmethod
    def type() -> str:
        return "harness-adapters"

    @property
    def capabilities(self) -> EnvironmentCapabilities:
        return EnvironmentCapabilities(disable_internet=True)

    @classmethod
    def resource_capabilities(cls) -> EnvironmentResourceCapabilities:
        return EnvironmentResourceCapabilities(memory_limit=True)

    def _validate_definition(self) -> None:
        """:raises BrokenTask: the image needs a container engine; says why."""
        self._image = self._read_image()

    def _read_image(self) -> Image:
        dockerfile = self.environment_dir / "Dockerfile"
        if dockerfile.is_file():
            return read_dockerfile(dockerfile, tests=self.environment_dir.name == "tests")
        workdir, context = self.task_env_config.workdir, self.environment_dir
        if self.task_env_config.docker_image and workdir and any(context.glob("*")):
            return Image(workdir=workdir, files={posixpath.normpath(workdir): context})
        raise BrokenTask(f"{dockerfile}: needs docker: nothing else says what is in the image")

    async def start(self, force_build: bool) -> None:
        if not self._network_disabled:
            self.logger.warning("this sandbox has no network, though the task may use one")
        sandboxes = await _provider(self.options.sandbox)
        task = self._task()
        try:
            spec = self._spec(task)
            self._sandbox = await self._stack.enter_async_context(sandboxes.open(spec))
            await put_files(task, self._sandbox)
            await self.ensure_dirs([*_LOGS, *self._mount_targets(writable_only=True)])
        except BaseException:
            await self.stop(delete=True)
            raise

    async def stop(self, delete: bool) -> None:
        """Nothing is kept, whatever ``delete`` says: all of a sandbox is in memory."""
        self._sandbox = None
        await self._stack.aclose()

    async def exec(
        self,
        command: str,
        cwd: str | None = None,
        env: dict[str, str] | None = None,
        timeout_sec: int | None = None,
        user: str | int | None = None,
    ) -> ExecResult:
        result = await self._open.exec(
            ["bash", "-c", command],
            cwd=cwd,
            env=self._merge_env(env),
            timeout=_NO_LIMIT if timeout_sec is None else float(timeout_sec),
        )
        if result.timed_out:
            raise RuntimeError(f"{command[:80]!r} was ended after {timeout_sec} seconds")
        return ExecResult(
            stdout=result.stdout.decode(errors="replace"),
            stderr=result.stderr.decode(errors="replace"),
            return_code=result.returncode,
        )

    async def upload_file(self, source_path: Path | str, target_path: str) -> None:
        folder, name = posixpath.split(target_path)
        await self._open.put({name: _entry(Path(source_path))}, at=folder)

    async def upload_dir(self, source_dir: Path | str, target_dir: str) -> None:
        folders, files = _tree(Path(source_dir))
        made = [posixpath.join(target_dir, folder) for folder in folders]
        await self.exec(f"mkdir -p -- {shlex.join([target_dir, *made])}")
        await self._open.put(files, at=target_dir)

    async def download_file(self, source_path: str, target_path: Path | str) -> None:
        """:raises FileNotFoundError: there is no such file.
        :raises AgentError: it is no regular file, or too large.
        """
        content = await self._open.read_file(source_path, max_bytes=MAX_FILE_BYTES)
        if content is None:
            raise FileNotFoundError(f"{source_path}: there is no such file in the sandbox")
        _write(Path(target_path), content)

    async def download_dir(self, source_dir: str, target_dir: Path | str) -> None:
        tree = await self._open.read_tree(source_dir, max_bytes=MAX_TREE_BYTES)
        Path(target_dir).mkdir(parents=True, exist_ok=True)
        for name, entry in tree.items():
            target = Path(target_dir) / name
            _write(target, entry.content)
            target.chmod(entry.mode & 0o755 | 0o600)

    @property
    def _open(self) -> Sandbox:
        if self._sandbox is None:
            raise RuntimeError("the environment is not started")
        return self._sandbox

    def _task(self) -> Task:
        """What ``tasks.workspace`` needs to know of it."""
        return Task(
            id=self.environment_name,
            instruction="",
            path=self.environment_dir.parent,
            metadata=TaskMetadata(kind="", cluster=""),
            workdir=posixpath.normpath(
                self.task_env_config.workdir or self._image.workdir or DEFAULT_WORKDIR
            ),
            files=self._image.files,
            folders=self._image.folders,
        )

    def _spec(self, task: Task) -> SandboxSpec:
        memory = self._effective_memory_mb
        return SandboxSpec(
            workdir=task.workdir,
            writable=writable_folders(task) | dict.fromkeys(_HARBOR, MAX_TREE_BYTES),
            hidden=(task.path, self.trial_paths.trial_dir),
            environment={**self._image.environment, **self._startup_env()},
            limits=ResourceLimits(memory_bytes=memory * MIB) if memory else ResourceLimits(),
        )


_probed: dict[str, SandboxProvider] = {}  # a job has one environment or two for every trial


async def _provider(name: str) -> SandboxProvider:
    if name not in _probed:
        sandboxes = await provider(name)
        if not sandboxes.boundary:
            raise ValueError(f"the sandbox {name!r} has no root of its own, which Harbor needs")
        _probed[name] = sandboxes
    return _probed[name]


def _tree(folder: Path) -> tuple[list[str], Mapping[str, FileEntry]]:
    """Folders and files below one, by relative path. Links that leave it are left out."""
    folders: list[str] = []
    files: dict[str, FileEntry] = {}
    root = folder.resolve()
    for place, inner, names in os.walk(folder):
        below = Path(place).relative_to(folder)
        folders += [str(below / name) for name in inner]
        for name in names:
            path = Path(place) / name
            if path.is_file() and path.resolve().is_relative_to(root):
                files[str(below / name)] = _entry(path)
    return folders, files


def _entry(path: Path) -> FileEntry:
    return FileEntry(
        content=path.read_bytes(), mode=0o755 if path.stat().st_mode & 0o100 else 0o644
    )


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
