"""What a sandbox is. Implementations: ``process``, ``bubblewrap`` and ``docker``."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Protocol

MIB = 1024 * 1024


class User(StrEnum):
    """Who runs something in a sandbox. As root each gets a uid of its own; as an ordinary user
    all share one, and only separate sandboxes keep them apart."""

    AGENT = "agent"  # the harness, its tools, and any code the agent wrote
    TESTS = "tests"  # trusted test code
    OWNER = "owner"  # owns files that nobody inside may change


@dataclass(frozen=True, slots=True, kw_only=True)
class Mount:
    """A read-only view of a host file or folder inside the sandbox."""

    source: Path
    target: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceLimits:
    """Caps of one sandbox. Exceeding one ends a process inside, never anything outside."""

    memory_bytes: int = 2048 * MIB
    processes: int = 256
    open_files: int = 1024
    output_bytes: int = 16 * MIB


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxSpec:
    """A sandbox to open.

    :param workdir: where commands start; below one of ``writable``.
    :param writable: absolute folder -> size limit in bytes; each is an empty tmpfs that belongs to
        the agent. Everything else is read-only.
    :param hidden: host folders that no program inside may read, wherever a mount would show them:
        the task's bundle with its tests and solution, the run folder with others' answers.
    :param outlet: a unix socket on the host, the only way out; ``None`` for none. Inside it is
        reached through ``Sandbox.outlet_url``.
    :param image: a container image whose files and programs it has, instead of the host's; only
        where ``SandboxProvider.images``. What the image has in a writable folder is there.
    """

    workdir: str = "/work"
    writable: Mapping[str, int] = field(
        default_factory=lambda: {"/work": 256 * MIB, "/home/agent": 128 * MIB, "/tmp": 256 * MIB}
    )
    mounts: tuple[Mount, ...] = ()
    hidden: tuple[Path, ...] = ()
    outlet: Path | None = None
    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    limits: ResourceLimits = ResourceLimits()
    image: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileEntry:
    """One file to put into a sandbox."""

    content: bytes
    mode: int = 0o644


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecResult:
    """What a command did.

    :param returncode: negative for a signal, as in ``subprocess``.
    :param truncated: more than ``output_bytes`` came; the rest was read and thrown away.
    :param timed_out: the timeout ended it, with everything it had started.
    :param out_of_memory: while it ran, the sandbox's memory ran out and something in it, mostly
        this, was killed for it. Never where memory is not counted for the sandbox as a whole.
    """

    returncode: int
    stdout: bytes
    stderr: bytes
    timed_out: bool = False
    truncated: bool = False
    out_of_memory: bool = False


class SandboxProcess(Protocol):
    """A running command with its streams; for protocols that talk while they run."""

    @property
    def stdout(self) -> asyncio.StreamReader: ...

    async def write(self, data: bytes) -> None:
        """Send to its standard input; waits for flow control."""
        ...

    async def write_eof(self) -> None: ...

    async def wait(self) -> int: ...

    async def kill(self) -> None: ...

    @property
    def out_of_memory(self) -> bool:
        """As in ``ExecResult``, once it has ended."""
        ...


class Sandbox(Protocol):
    """A place where an agent's programs run. All its errors are ``InfraError`` unless said so."""

    @property
    def spec(self) -> SandboxSpec: ...

    @property
    def outlet_url(self) -> str:
        """``http://127.0.0.1:PORT`` inside the sandbox, forwarded to the outlet socket."""
        ...

    def path(self, inside: str) -> str:
        """An absolute path of the spec as programs in this sandbox must write it. The same
        string, except in ``process``, which has no root of its own."""
        ...

    async def put(
        self, files: Mapping[str, FileEntry], *, at: str, user: User = User.AGENT
    ) -> None:
        """Write files below the folder ``at`` (absolute, below a writable folder), owned by
        ``user``; parents are made. ``User.OWNER`` makes them unchangeable for everybody inside.
        Names that are absolute or hold ``..`` raise ``ValueError``."""
        ...

    async def read_file(self, path: str, *, max_bytes: int) -> bytes | None:
        """One regular file, or ``None`` when there is no such file. Symbolic links are not
        followed out of the writable folders.

        :raises AgentError: it is larger than ``max_bytes`` or no regular file.
        """
        ...

    async def read_tree(self, path: str, *, max_bytes: int) -> dict[str, FileEntry]:
        """All regular files below a folder, by relative path; links, sockets and devices are left
        out. Bytes in file names that are no UTF-8 come as surrogate escapes.

        :raises AgentError: more than ``max_bytes`` or 20,000 files.
        """
        ...

    async def exec(
        self,
        argv: Sequence[str],
        *,
        user: User = User.AGENT,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        timeout: float = 60.0,
        stdin: bytes = b"",
        max_output: int | None = None,
    ) -> ExecResult:
        """Run a command to its end. A timeout ends its whole process tree; so does cancellation."""
        ...

    async def spawn(
        self,
        argv: Sequence[str],
        *,
        user: User = User.AGENT,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
    ) -> SandboxProcess:
        """Start a command and talk to it; its standard error is thrown away."""
        ...

    async def freeze(self) -> None:
        """Kill every process inside except the supervisor and close the way out; files stay
        readable. Nothing can be started as ``User.AGENT`` any more."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Isolation:
    """What a probe of the real thing found.

    :param lost: properties that this machine does not give, one line each, for a person.
    """

    ok: bool
    reason: str = ""
    lost: tuple[str, ...] = ()


class SandboxProvider(Protocol):
    """Opens sandboxes of one sort."""

    @property
    def name(self) -> str: ...

    @property
    def boundary(self) -> bool:
        """Whether it isolates at all; ``process`` does not."""
        ...

    @property
    def images(self) -> bool:
        """Whether it runs ``SandboxSpec.image``."""
        ...

    async def probe(self) -> Isolation:
        """Try on this machine, with a real sandbox, that isolation holds."""
        ...

    async def check_images(self, names: Sequence[str]) -> None:
        """:raises MissingPrerequisite: one is not there; the message says how to get it."""
        ...

    def open(self, spec: SandboxSpec) -> AbstractAsyncContextManager[Sandbox]:
        """A sandbox that is gone, with all its processes and files, when the context ends.

        :raises MissingPrerequisite: the image that it names is not there.
        """
        ...
