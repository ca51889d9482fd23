"""Run a harness without a person: until it ends, has said that it is done, or its time is over."""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness_adapters.errors import AgentError, InfraError
from harness_adapters.harness.events import MIB
from harness_adapters.sandbox.base import Sandbox, SandboxProcess
from harness_adapters.types import Session

log = logging.getLogger(__name__)

HOME = "/home/agent"
"""The agent's home folder in every sandbox: the place for a harness's configuration, since nothing
of it may show in the workspace."""
LOG_BYTES = 16 * MIB
"""What is kept of any one log that a harness writes."""

_STDERR_FILE = f"{HOME}/.harness-stderr.txt"
_STDERR_BYTES = 64 * 1024
_SETTLE_SECONDS = 5.0  # what a process gets to exit once it has said that it is done
_DETAIL_CHARACTERS = 300
_SESSION_LOGS = 8  # a harness writes one; an agent may write any number

Read = Callable[[asyncio.StreamReader], Awaitable[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """How the process of a harness went. None of this says whether the harness succeeded.

    :param returncode: ``None`` when it was still running and had to be ended.
    :param stderr: the beginning of its standard error.
    :param out_of_memory: the sandbox's memory ran out meanwhile.
    """

    returncode: int | None
    stderr: str
    timed_out: bool
    seconds: float
    out_of_memory: bool = False


async def run_headless(
    session: Session,
    argv: Sequence[str],
    *,
    env: Mapping[str, str],
    read: Read,
    stdin: bytes = b"",
    said_done: asyncio.Event | None = None,
) -> Ran:
    """Run ``argv`` in the session's workspace, and end it with all that it has started.

    Its standard error is kept as ``stderr.txt`` in the session's log folder.

    :param read: reads the process's standard output to its end; it may be cancelled.
    :param said_done: set while the harness says that it is done; it then gets a moment to exit.
    """
    started = time.monotonic()
    returncode: int | None = None
    timed_out = False
    inside = session.sandbox.path
    process = await session.sandbox.spawn(
        # A sandbox throws standard error away: $0 is the file that keeps it.
        ["/bin/sh", "-c", 'exec "$@" 2>"$0"', inside(_STDERR_FILE), *argv],
        cwd=session.task.workdir,
        env={"HOME": inside(HOME), **env},
    )
    try:
        async with asyncio.timeout(session.limits.session_seconds) as clock:
            if stdin:
                await process.write(stdin)
            await process.write_eof()
            returncode = await _follow(process, read, said_done or asyncio.Event())
    except TimeoutError:
        if not clock.expired():
            raise
        timed_out = True
    finally:
        await process.kill()
    seconds = time.monotonic() - started
    stderr = await keep_file(
        session.sandbox, _STDERR_FILE, session.log_dir / "stderr.txt", max_bytes=_STDERR_BYTES
    )
    return Ran(
        returncode=returncode,
        stderr=stderr.decode(errors="replace"),
        timed_out=timed_out,
        seconds=seconds,
        out_of_memory=process.out_of_memory,
    )


async def _follow(process: SandboxProcess, read: Read, said_done: asyncio.Event) -> int | None:
    reader = asyncio.ensure_future(read(process.stdout))
    exited = asyncio.ensure_future(process.wait())
    try:
        while True:
            over = asyncio.ensure_future(said_done.wait())
            try:
                await asyncio.wait({reader, exited, over}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                over.cancel()
            # Each of the three brings the others; what it left running may hold its output open.
            await asyncio.wait({reader, exited}, timeout=_SETTLE_SECONDS)
            if reader.done():
                reader.result()
            if reader.done() or exited.done() or said_done.is_set():
                return exited.result() if exited.done() else None
    finally:
        reader.cancel()
        exited.cancel()
        await asyncio.gather(reader, exited, return_exceptions=True)


async def keep_file(sandbox: Sandbox, path: str, to: Path, *, max_bytes: int = LOG_BYTES) -> bytes:
    """Copy a log out of the sandbox; returns what was kept. One that cannot be had, or is too
    large, is reported and changes nothing else."""
    try:
        content = await sandbox.read_file(path, max_bytes=max_bytes)
    except (AgentError, InfraError) as error:
        log.warning("%s is not kept: %s", path, error)
        return b""
    if content is None:
        return b""
    to.write_bytes(content)
    return content


async def keep_tree(session: Session, folder: str, *, wanted: re.Pattern[str]) -> None:
    """Copy a harness's own session logs out, as ``session-0.jsonl`` and so on in the order of
    their paths. What cannot be had is reported and changes nothing else.

    :param folder: where in the sandbox they lie.
    :param wanted: what a path relative to it must match as a whole.
    """
    try:
        found = await session.sandbox.read_tree(folder, max_bytes=LOG_BYTES)
    except (AgentError, InfraError) as error:
        log.warning("%s is not kept: %s", folder, error)
        return
    # Numbered here: a name from the sandbox is the agent's, and need not be one for this host.
    for number, path in enumerate(sorted(filter(wanted.fullmatch, found))[:_SESSION_LOGS]):
        (session.log_dir / f"session-{number}.jsonl").write_bytes(found[path].content)


async def keep_export(
    session: Session,
    argv: Sequence[str],
    *,
    env: Mapping[str, str],
    to: Path,
    seconds: float,
    file: str | None = None,
) -> bytes:
    """Keep what a harness's own export command writes; returns what was kept. One that fails is
    reported and changes nothing else.

    :param file: where in the sandbox it writes; without it, to standard output.
    """
    inside = session.sandbox.path
    try:
        done = await session.sandbox.exec(
            argv,
            cwd=session.task.workdir,
            env={"HOME": inside(HOME), **env},
            timeout=seconds,
            max_output=LOG_BYTES,
        )
    except InfraError as error:
        log.warning("%s is not kept: %s", to.name, error)
        return b""
    if done.returncode or done.truncated:
        why = "too large" if done.truncated else one_line(done.stderr.decode(errors="replace"))
        log.warning("%s is not kept: %s", to.name, why or f"exit code {done.returncode}")
        return b""
    if file is not None:
        return await keep_file(session.sandbox, file, to)
    to.write_bytes(done.stdout)
    return done.stdout


def how_it_died(ran: Ran, *, started: bool) -> str:
    """One line for a harness that ended without saying how.

    :param started: whether it had begun to work on its task.
    """
    when = "in the middle of its work" if started else "before it started to work"
    how = "it closed its output" if ran.returncode is None else f"exit code {ran.returncode}"
    if ran.out_of_memory:
        how += ", the sandbox's memory had run out"
    # An uncaught error is printed after the place where it came up.
    error = re.search(r"^[\w.]*Error\b.*", ran.stderr, re.MULTILINE)
    said = one_line(error.group() if error else ran.stderr)
    return f"{when}, {how}" + (f": {said}" if said else "")


def one_line(text: str) -> str:
    """The first line that holds something, cut for a person."""
    lines = (line.strip() for line in text.splitlines())
    return next((line for line in lines if line), "")[:_DETAIL_CHARACTERS]
