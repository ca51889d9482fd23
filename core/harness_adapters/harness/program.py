"""Run an installer or a probe on the host: whole process group, bounded time, bounded output."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

log = logging.getLogger(__name__)

_KEPT_LINES = 400
_LINE_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """:param output: the last lines of stdout and stderr together."""

    returncode: int
    output: str
    timed_out: bool = False


async def run_program(
    argv: Sequence[str | Path],
    *,
    timeout: float,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    progress: bool = False,
) -> Finished:
    """Run ``argv`` without a shell and without input. A timeout, like cancellation, kills its
    process group.

    :param env: added to this process's own environment.
    :param progress: pass each line on to the log.
    :raises OSError: it cannot be started.
    """
    process = await asyncio.create_subprocess_exec(
        *map(str, argv),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        cwd=cwd,
        env={**os.environ, **(env or {})},
        start_new_session=True,
        limit=_LINE_BYTES,
    )
    lines: deque[str] = deque(maxlen=_KEPT_LINES)
    try:
        async with asyncio.timeout(timeout):
            assert process.stdout is not None
            while True:
                try:
                    line = await process.stdout.readline()
                except ValueError:  # longer than the limit; asyncio has dropped it
                    continue
                if not line:
                    break
                lines.append(line.decode(errors="replace").rstrip())
                if progress and lines[-1]:
                    log.info("%s", lines[-1])
            await process.wait()
    except TimeoutError:
        return Finished(returncode=-signal.SIGKILL, output="\n".join(lines), timed_out=True)
    finally:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):  # it ended just now
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
    assert process.returncode is not None
    return Finished(returncode=process.returncode, output="\n".join(lines))
