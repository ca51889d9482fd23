"""One session of a driver: real sandbox, real gateway, and an engine that plays given steps."""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness_adapters.errors import MissingPrerequisite
from harness_adapters.gateway.guard.judge import Guard, LoadedRule
from harness_adapters.gateway.server import Gateway
from harness_adapters.gateway.transcript import Transcript
from harness_adapters.gateway.upstream import Upstream
from harness_adapters.protocols import GuardRule, HarnessDriver
from harness_adapters.sandbox.base import FileEntry, Sandbox, SandboxProvider, SandboxSpec
from harness_adapters.sandbox.providers import provider
from harness_adapters.tasks.workspace import writable_folders
from harness_adapters.testing.engine import Speak, Step, StepEngine
from harness_adapters.types import (
    Endpoint,
    HarnessExit,
    Limits,
    Sampling,
    Session,
    Task,
    TaskMetadata,
)

MODEL = "contract-kit.v1"
_MAX_WORK = 16 * 1024 * 1024
_DYING_SECONDS = 3.0  # what a killed process gets to vanish from the process table
# Builtins only: each program that it started would stand in the table too.
_LIST_PROCESSES = """\
for p in /proc/[0-9]*; do
  case $p in /proc/1|/proc/$$) continue;; esac
  words=; IFS= read -r words < "$p/cmdline" 2>/dev/null
  [ -n "$words" ] && echo "$words"
done 2>/dev/null
true"""


@dataclass(frozen=True, kw_only=True)
class Played:
    """What a session came to.

    :param work: files in the workspace afterwards, by relative path.
    :param running: command lines still alive in the sandbox after ``run`` returned; empty for a
        sandbox that is no boundary, where nobody can tell.
    :param asked: the requests that reached the engine, as chat completions.
    :param seconds: wall time of ``driver.run``.
    """

    exit: HarnessExit
    transcript: Transcript
    work: Mapping[str, bytes]
    running: tuple[str, ...]
    asked: tuple[dict[str, Any], ...]
    log_dir: Path
    seconds: float


async def play_session(
    driver: HarnessDriver,
    steps: Sequence[Step],
    *,
    log_dir: Path,
    instruction: str = "Make the file.",
    seconds: float = 300.0,
    max_requests: int = 20,
    rules: Mapping[str, GuardRule] | None = None,
    files: Mapping[str, FileEntry] | None = None,
    sandbox: str | None = None,
    speak: Speak | None = None,
) -> Played:
    """Run the driver's harness once, as a rollout would, against an engine that plays ``steps``.

    :param log_dir: an empty folder on the host.
    :param seconds: the session's time; by default what a rollout has, since a machine may be busy.
    :param rules: the guard's rules by name; none by default.
    :param files: what the workspace holds at the start.
    :param sandbox: ``bubblewrap`` or ``process``; by default the first that works here.
    :param speak: see ``StepEngine``.
    :raises MissingPrerequisite: the driver cannot install its harness.
    """
    sandboxes = await (provider(sandbox) if sandbox else best_provider())
    toolchain = await driver.install()
    limits = Limits(session_seconds=seconds, max_requests=max_requests, max_output_tokens=1024)
    task = Task(
        id="contract",
        instruction=instruction,
        path=log_dir,
        metadata=TaskMetadata(kind="contract", cluster="contract"),
        limits=limits,
    )
    engine = StepEngine(steps, speak=speak)
    guard = Guard([LoadedRule(name=name, rule=rule) for name, rule in (rules or {}).items()])
    # A socket's path must be short, which a test's own folder is not.
    with tempfile.TemporaryDirectory(prefix="ha-kit-") as folder:
        async with (
            engine.serve() as url,
            Gateway(
                upstream=Upstream(url), guard=guard, socket=Path(folder) / "gateway.sock"
            ) as gateway,
            sandboxes.open(
                SandboxSpec(
                    workdir=task.workdir,
                    writable=writable_folders(task),
                    mounts=toolchain.mounts,
                    outlet=gateway.socket,
                )
            ) as opened,
        ):
            wire = gateway.open_session(
                model=MODEL,
                limits=limits,
                auxiliary=driver.auxiliary,
                require_tokens=True,
            )
            session = Session(
                task=task,
                sandbox=opened,
                endpoint=Endpoint(
                    base_url=f"{opened.outlet_url}{wire.path}", model=MODEL, api_key=wire.key
                ),
                sampling=Sampling(),
                limits=limits,
                log_dir=log_dir,
            )
            await opened.put(files or {}, at=task.workdir)
            own = await _processes(opened)
            await driver.prepare(session)
            started = time.monotonic()
            exit = await driver.run(session)
            took = time.monotonic() - started
            running = await _left_running(opened, own) if sandboxes.boundary else ()
            await opened.freeze()
            wire.close()
            tree = await opened.read_tree(task.workdir, max_bytes=_MAX_WORK)
    return Played(
        exit=exit,
        transcript=wire.transcript(),
        work={name: entry.content for name, entry in tree.items()},
        running=running,
        asked=tuple(engine.asked),
        log_dir=log_dir,
        seconds=took,
    )


async def best_provider() -> SandboxProvider:
    """``bubblewrap`` where it works, else ``process``."""
    try:
        return await provider("bubblewrap")
    except MissingPrerequisite:
        return await provider("process")


async def _left_running(sandbox: Sandbox, own: Counter[str]) -> tuple[str, ...]:
    """:param own: the sandbox's own processes."""
    until = time.monotonic() + _DYING_SECONDS
    while True:
        found = await _processes(sandbox) - own
        if not found or time.monotonic() > until:
            return tuple(sorted(found))
        await asyncio.sleep(0.2)


async def _processes(sandbox: Sandbox) -> Counter[str]:
    listed = await sandbox.exec(["/bin/sh", "-c", _LIST_PROCESSES])
    return Counter(listed.stdout.decode(errors="replace").splitlines())
