"""Many rollouts: ``ha.run(...)``, of which the command ``ha run`` is a thin shell."""

from __future__ import annotations

import asyncio
import secrets
import signal
import threading
import time
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import AsyncExitStack, aclosing
from dataclasses import dataclass, field, replace
from pathlib import Path

import uvloop

from harness_adapters.errors import BadInput, BrokenTask, HarnessAdaptersError
from harness_adapters.gateway.server import Gateway
from harness_adapters.gateway.upstream import Upstream
from harness_adapters.loop import Setup, rollout
from harness_adapters.parts import ComponentOptions, Parts, check_tasks, make_kinds, make_parts
from harness_adapters.plugins import Plugins
from harness_adapters.protocols import TaskKind
from harness_adapters.record.folder import RunFolder, file_name, read_rollouts
from harness_adapters.record.manifest import make_manifest
from harness_adapters.runners.local import Job, run_local
from harness_adapters.sandbox.providers import provider
from harness_adapters.sandbox.reaper import leased_folder
from harness_adapters.serve.engine import RunningEngine, open_engine, parse_engine
from harness_adapters.summary import Summary, summarise
from harness_adapters.tasks.bundle import load_tasks
from harness_adapters.tasks.selection import select
from harness_adapters.types import Limits, Rollout, Sampling, Task

# A guard that cannot look is worse than no run: contracts.md allows one rollout in a hundred.
MAX_GUARD_FAULT_SHARE = 0.01

Progress = Callable[[Rollout, int, int], None]
"""Called after each recorded rollout with it, the number done and the number planned."""


@dataclass(frozen=True, kw_only=True)
class RunResult:
    """What a run left: its folder and its numbers.

    :param problems: one line per broken task or failing observer.
    """

    out: Path
    summary: Summary
    problems: tuple[str, ...] = ()

    def rollouts(self) -> Iterator[Rollout]:
        """The recorded rollouts, read from disk."""
        return read_rollouts(self.out)


class RunStopped(HarnessAdaptersError):
    """A run ended before its plan was done; ``result`` holds what finished, which is on disk."""

    def __init__(self, message: str, result: RunResult) -> None:
        super().__init__(message)
        self.result = result


class RunInterrupted(KeyboardInterrupt):
    """Ctrl-C or SIGTERM ended a run; ``result`` holds what finished, which is on disk."""

    def __init__(self, result: RunResult) -> None:
        super().__init__("interrupted")
        self.result = result


def run(
    tasks: Path | str | Sequence[Task],
    *,
    harness: str = "pi",
    engine: str = "scripted:oracle",
    model: str | None = None,
    out: Path | str | None = None,
    attempts: int = 1,
    concurrency: int = 4,
    guards: Sequence[str] | None = None,
    rewards: Sequence[str] | None = None,
    options: ComponentOptions | None = None,
    sandbox: str | None = None,
    kind: str | None = None,
    split: str | None = None,
    limit: int | None = None,
    session_seconds: float | None = None,
    max_requests: int | None = None,
    sampling: Sampling | None = None,
    infra_retries: int = 2,
    resume: bool = False,
    plugins: Plugins | None = None,
    progress: Progress | None = None,
) -> RunResult:
    """Run every selected task ``attempts`` times in a real harness, guarded and verified.

    :param tasks: a folder of task bundles, or tasks already loaded.
    :param engine: ``URL``, ``scripted:PLAY``, ``embedded:MODEL`` or ``vllm:MODEL``.
    :param model: the model's or adapter's name on that engine; by default the engine's first.
    :param out: the run folder; by default a new one below ``runs/``.
    :param guards: names; ``None`` for every built-in guard, empty for none at all.
    :param options: component options, as in a recipe: ``{"guards": {"tamper": {...}}}``.
    :param session_seconds: cap per session instead of the task's own.
    :param max_requests: model requests per session instead of the task's own cap.
    :raises BadInput: nothing was started; the message says what to do.
    :raises RunStopped: the engine died or a guard kept failing; finished rollouts are recorded.
    :raises RunInterrupted: Ctrl-C; finished rollouts are recorded.
    """
    plugins = plugins or Plugins.load()
    if attempts < 1 or concurrency < 1 or infra_retries < 0:
        raise BadInput("attempts and concurrency start at 1, infra retries at 0")
    out = Path(out) if out else Path("runs") / f"{time.strftime('%Y%m%d-%H%M%S')}-{_suffix()}"
    chosen, kinds, broken = _choose(plugins, tasks, kind=kind, split=split, limit=limit)
    chosen = [_capped(task, session_seconds, max_requests) for task in chosen]
    if not resume and (out / "manifest.json").exists():
        raise BadInput(f"{out} holds a run already; add --resume or name another")
    used = {task.kind for task in chosen}
    job = _Run(
        tasks=chosen,
        broken=broken,
        parts=make_parts(
            plugins,
            harness=harness,
            kinds={name: made for name, made in kinds.items() if name in used},
            guards=guards,
            rewards=rewards,
            options=options,
        ),
        plugins=plugins,
        engine=engine,
        model=model,
        out=out,
        attempts=attempts,
        concurrency=concurrency,
        sandbox=sandbox,
        sampling=sampling or Sampling(),
        infra_retries=infra_retries,
        resume=resume,
        progress=progress,
    )
    try:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(job.execute())
    except (KeyboardInterrupt, asyncio.CancelledError):
        raise RunInterrupted(job.result()) from None
    except _Stop as stop:
        raise RunStopped(str(stop), job.result()) from None
    return job.result()


@dataclass(frozen=True, kw_only=True)
class _Run:
    tasks: list[Task]
    broken: list[BrokenTask]
    parts: Parts
    plugins: Plugins
    engine: str
    model: str | None
    out: Path
    attempts: int
    concurrency: int
    sandbox: str | None
    sampling: Sampling
    infra_retries: int
    resume: bool
    progress: Progress | None
    problems: list[str] = field(default_factory=list)

    @property
    def planned(self) -> int:
        return len(self.tasks) * self.attempts

    def result(self) -> RunResult:
        """What is on disk by now."""
        rollouts = read_rollouts(self.out)
        return RunResult(
            out=self.out,
            summary=summarise(rollouts, planned=self.planned, broken=len(self.broken)),
            problems=(*map(str, self.broken), *self.problems),
        )

    async def execute(self) -> None:
        _cancel_on_sigterm()
        spec = parse_engine(self.engine)
        sandboxes = await provider(self.sandbox)
        toolchain = await self.parts.driver.install()
        isolation = await sandboxes.probe()
        async with AsyncExitStack() as stack:
            engine = await stack.enter_async_context(
                open_engine(spec, tasks=self.tasks, model=self.model)
            )
            gateway = await stack.enter_async_context(
                Gateway(
                    upstream=Upstream(engine.url),
                    guard=self.parts.guard,
                    socket=stack.enter_context(leased_folder("gateway")) / "gateway.sock",
                )
            )
            manifest = make_manifest(
                components=self.parts.provenance,
                component_options=self.parts.options,
                harness=self.parts.harness,
                harness_version=toolchain.version,
                engine={"name": self.engine, **engine.flags},
                template=engine.template,
                model=engine.model,
                sampling=self.sampling,
                tasks=self.tasks,
                attempts=self.attempts,
                infra_retries=self.infra_retries,
                concurrency=self.concurrency,
                sandbox=sandboxes.name,
                sandbox_lost=isolation.lost,
                policy=self.parts.guard.policy_hash,
            )
            folder = RunFolder.create(self.out, manifest, resume=self.resume)
            stack.callback(folder.close)
            setup = Setup(
                driver=self.parts.driver,
                toolchain=toolchain,
                kinds=self.parts.kinds,
                rewards=self.parts.rewards,
                gateway=gateway,
                sandboxes=sandboxes,
                model=engine.model,
                sampling=self.sampling,
                components=self.parts.provenance,
            )
            try:
                await _unless_dead(self._record(folder, setup), engine)
            except _Stop:
                folder.derive()
                raise
            folder.derive()

    async def _record(self, folder: RunFolder, setup: Setup) -> None:
        """Run what is not finished yet, and record each rollout as it ends."""
        if folder.torn:
            self.problems.append(f"rollouts.log: cut off a torn record of {folder.torn} bytes")
        done = folder.finished()
        jobs = [
            Job(task=task, attempt=attempt)
            for task in self.tasks
            for attempt in range(self.attempts)
            if (task.id, attempt) not in done
        ]

        async def work(job: Job, number: int) -> Rollout:
            log_dir = folder.log_dir(f"{file_name(job.task.id, job.attempt)}.{number}")
            return await rollout(job.task, setup, log_dir=log_dir, attempt=job.attempt)

        count, faulty = len(done), 0
        rollouts = run_local(
            jobs, work, concurrency=self.concurrency, infra_retries=self.infra_retries
        )
        async with aclosing(rollouts):
            async for one in rollouts:
                folder.add(one)
                self.problems.extend(self.plugins.observe(one))
                count += 1
                if self.progress:
                    self.progress(one, count, self.planned)
                faulty += bool(one.transcript.guard_faults)
                if faulty > MAX_GUARD_FAULT_SHARE * self.planned:
                    raise _Stop(f"a guard rule is at fault: {one.transcript.guard_faults[0]}")


class _Stop(Exception):
    """The run cannot go on; carries the reason."""


async def _unless_dead(work: Coroutine[None, None, None], engine: RunningEngine) -> None:
    """Do the work; when the engine dies first, cancel it and say so."""
    working = asyncio.ensure_future(work)
    dead = asyncio.ensure_future(engine.wait_dead())
    try:
        await asyncio.wait({working, dead}, return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise _Stop(f"the engine died: {dead.result()}")
        await working
    finally:
        for future in (working, dead):
            future.cancel()
        await asyncio.gather(working, dead, return_exceptions=True)


def _cancel_on_sigterm() -> None:
    """End as on Ctrl-C, which ``asyncio.Runner`` handles; only the main thread gets signals."""
    if threading.current_thread() is threading.main_thread():
        task = asyncio.current_task()
        assert task is not None
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)


def _choose(
    plugins: Plugins,
    tasks: Path | str | Sequence[Task],
    *,
    kind: str | None,
    split: str | None,
    limit: int | None,
) -> tuple[list[Task], dict[str, TaskKind], list[BrokenTask]]:
    broken: list[BrokenTask] = []
    if isinstance(tasks, str | Path):
        loaded, unreadable = load_tasks(Path(tasks))
        broken += unreadable
    else:
        loaded = list(tasks)
    kinds = make_kinds(plugins, {task.kind for task in loaded})
    good, unfit = check_tasks(plugins, kinds, loaded)
    broken += unfit
    if not good and broken:
        more = f" (and {len(broken) - 1} more)" if len(broken) > 1 else ""
        raise BadInput(f"no readable task: {broken[0]}{more}")
    return select(good, kind=kind, split=split, limit=limit), kinds, broken


def _capped(task: Task, session_seconds: float | None, max_requests: int | None) -> Task:
    own: Limits = task.limits
    return replace(
        task,
        limits=replace(
            own,
            session_seconds=own.session_seconds if session_seconds is None else session_seconds,
            max_requests=own.max_requests if max_requests is None else max_requests,
        ),
    )


def _suffix() -> str:
    return secrets.token_hex(2)
