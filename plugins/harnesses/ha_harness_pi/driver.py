"""The driver: pi from npm, headless with ``-p --mode json``, one process per session."""

from __future__ import annotations

import asyncio
import logging
import re
import time
from dataclasses import dataclass
from pathlib import Path

from ha_harness_pi.config import (
    AGENT_DIR,
    HOME,
    PROVIDER,
    SAMPLING_FILE,
    SESSIONS_DIR,
    STDERR_FILE,
    config_files,
    environment,
    split_instruction,
)
from ha_harness_pi.ending import Progress, how_it_ended
from ha_harness_pi.options import pi_options
from harness_adapters import (
    AgentError,
    AuxiliaryRequest,
    HarnessExit,
    InfraError,
    Mount,
    Options,
    Sandbox,
    SandboxProcess,
    Session,
    Toolchain,
)
from harness_adapters.harness.events import MIB, read_events
from harness_adapters.harness.node import find_node, minimum_version
from harness_adapters.harness.npm import install_npm, read_npm_package

log = logging.getLogger(__name__)

MODULES = "/opt/ha/pi/node_modules"

_OLDEST_NODE = (20, 6, 0)
_SETTLE_SECONDS = 5.0  # what a process gets to exit once it has said that it is done
_LOG_BYTES = 16 * MIB
_STDERR_BYTES = 64 * 1024
_PROGRESS_ONLY = frozenset({"message_update", "tool_execution_update"})
_SESSION_LOGS = 8  # pi writes one; an agent may write any number
_SESSION_LOG = re.compile(r"[\w.:-]+\.jsonl")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Programs:
    """Paths inside the sandbox."""

    node: str
    cli: str


class PiDriver:
    """Drives the pi coding agent.

    :param options: ``package`` and ``version`` to install from npm, or ``path`` of an installed
        one; see :class:`~ha_harness_pi.options.PiOptions`.
    :raises BadInput: unknown or senseless options.
    """

    def __init__(self, options: Options) -> None:
        self._options = pi_options(options)
        self._programs: _Programs | None = None

    @property
    def auxiliary(self) -> tuple[AuxiliaryRequest, ...]:
        """None: its only side request is compaction, which is switched off."""
        return ()

    async def install(self) -> Toolchain:
        """pi from the cache or npm, and a Node.js that it accepts.

        :raises MissingPrerequisite: no Node.js, no npm, no network, no such version, no pi at
            ``path``.
        """
        wanted = self._options
        if wanted.path is not None:
            package = read_npm_package(wanted.path)
        else:
            package = await install_npm(wanted.package, wanted.version)
        node = await find_node(minimum_version(package.engine, default=_OLDEST_NODE))
        # A copy outside any node_modules is mounted as one, so that pi looks the same in all.
        target = MODULES if package.root != package.folder else f"{MODULES}/{package.name}"
        self._programs = _Programs(node=node.inside, cli=f"{target}/{package.program('pi')}")
        return Toolchain(
            version=package.version,
            mounts=(Mount(source=package.root, target=target), *node.mounts),
        )

    async def prepare(self, session: Session) -> None:
        files = config_files(session.endpoint, session.sampling, session.limits)
        await session.sandbox.put(files, at=AGENT_DIR)

    async def run(self, session: Session) -> HarnessExit:
        started = time.monotonic()
        head, argument = split_instruction(session.task.instruction)
        progress = Progress()
        returncode: int | None = None
        timed_out = False
        process = await session.sandbox.spawn(
            self._command(session, argument),
            cwd=session.task.workdir,
            env=environment(session.sandbox.path(HOME), session.sandbox.path(AGENT_DIR)),
        )
        try:
            async with asyncio.timeout(session.limits.session_seconds) as clock:
                if head:
                    await process.write(head)
                await process.write_eof()
                returncode = await _follow(process, progress, session.log_dir / "events.jsonl")
        except TimeoutError:
            if not clock.expired():
                raise
            timed_out = True
        finally:
            await process.kill()
        stderr = await _keep_logs(session.sandbox, session.log_dir)
        ended, detail = how_it_ended(
            progress, returncode=returncode, stderr=stderr, timed_out=timed_out
        )
        return HarnessExit(ended=ended, detail=detail, seconds=time.monotonic() - started)

    def _command(self, session: Session, argument: str) -> list[str]:
        if self._programs is None:
            raise InfraError("pi was not installed before it was run")
        inside = session.sandbox.path
        command = [
            # Keeps standard error, which a sandbox throws away: $0 is the file.
            "/bin/sh", "-c", 'exec "$@" 2>"$0"', inside(STDERR_FILE),
            inside(self._programs.node), inside(self._programs.cli),
            "-p", "--mode", "json", "--provider", PROVIDER, "--model", session.endpoint.model,
            "--session-dir", inside(SESSIONS_DIR),
            "--no-extensions", "--extension", inside(f"{AGENT_DIR}/{SAMPLING_FILE}"),
            "--no-skills", "--no-prompt-templates", "--no-themes",
        ]  # fmt: skip
        if inside(session.task.workdir) != session.task.workdir:
            # Without a root of its own pi would walk up into the user's folders for AGENTS.md.
            command.append("--no-context-files")
        return [*command, argument] if argument else command


async def _follow(process: SandboxProcess, progress: Progress, log_file: Path) -> int | None:
    """Until pi has exited, or has said that it is done and stays: its exit code, or ``None``."""
    reader = asyncio.ensure_future(_read(process, progress, log_file))
    exited = asyncio.ensure_future(process.wait())
    try:
        while True:
            over = asyncio.ensure_future(progress.over.wait())
            try:
                await asyncio.wait({reader, exited, over}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                over.cancel()
            # Each of the three brings the others; what it left running may hold its output open.
            await asyncio.wait({reader, exited}, timeout=_SETTLE_SECONDS)
            if reader.done():
                reader.result()
            if reader.done() or exited.done() or progress.over.is_set():
                return exited.result() if exited.done() else None
    finally:
        reader.cancel()
        exited.cancel()
        await asyncio.gather(reader, exited, return_exceptions=True)


async def _read(process: SandboxProcess, progress: Progress, log_file: Path) -> None:
    left = _LOG_BYTES
    with log_file.open("wb") as file:
        async for event, line in read_events(process.stdout):
            progress.see(event)
            # The partial messages repeat, in growing portions, what the whole ones say.
            if event.get("type") not in _PROGRESS_ONLY and len(line) < left:
                file.write(line + b"\n")
                left -= len(line) + 1


async def _keep_logs(sandbox: Sandbox, log_dir: Path) -> str:
    """Copy pi's own logs out; returns its standard error. A log that cannot be had is reported
    and changes nothing else."""
    stderr = b""
    try:
        stderr = await sandbox.read_file(STDERR_FILE, max_bytes=_STDERR_BYTES) or b""
        (log_dir / "stderr.txt").write_bytes(stderr)
    except (AgentError, InfraError) as error:
        log.warning("pi's standard error is not kept: %s", error)
    try:
        logs = await sandbox.read_tree(SESSIONS_DIR, max_bytes=_LOG_BYTES)
    except (AgentError, InfraError) as error:
        log.warning("pi's session log is not kept: %s", error)
    else:
        for name in sorted(filter(_SESSION_LOG.fullmatch, logs))[:_SESSION_LOGS]:
            (log_dir / f"session-{name}").write_bytes(logs[name].content)
    return stderr.decode(errors="replace")
