"""The engine room of ``run`` and ``evaluate``: several arms over one engine, jobs interleaved.

An arm is one run folder: one harness, one model, one guard. Everything that could drift while a
long job runs (the engine's load, the machine's heat, a cache that fills) must hit all arms alike,
so each attempt of a task is made by all arms in turn, and who goes first rotates.
"""

from __future__ import annotations

import asyncio
import logging
import signal
import threading
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import AsyncExitStack, aclosing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import uvloop

from harness_adapters.chosen import Chosen
from harness_adapters.errors import BadInput
from harness_adapters.gateway.server import Gateway
from harness_adapters.gateway.upstream import Upstream
from harness_adapters.loop import Setup, rollout
from harness_adapters.parts import Parts
from harness_adapters.plugins import Plugins
from harness_adapters.record.folder import RunFolder, derive, file_name, read_rollouts
from harness_adapters.record.manifest import make_manifest
from harness_adapters.runners.local import Job, run_local
from harness_adapters.sandbox.providers import provider
from harness_adapters.sandbox.reaper import leased_folder
from harness_adapters.serve.engine import RunningEngine, open_engine, parse_engine
from harness_adapters.summary import Summary, summarise
from harness_adapters.tasks.images import check_images
from harness_adapters.types import Rollout, Sampling, Task

_log = logging.getLogger(__name__)

# A guard that cannot look is worse than no run: contracts.md allows one rollout in a hundred.
MAX_GUARD_FAULT_SHARE = 0.01


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


@dataclass(frozen=True, kw_only=True)
class ArmPlan:
    """One run to make.

    :param model: the model's or adapter's name; ``None`` for the engine's first.
    :param out: its run folder.
    """

    parts: Parts
    model: str | None
    out: Path


Progress = Callable[[int, Rollout, int, int], None]
"""Called after each recorded rollout with the index of its arm, the rollout, the number done and
the number planned, both over all arms."""


class Stopped(Exception):
    """The work cannot go on; carries the reason. What finished is on disk."""


class Interrupted(Exception):
    """Ctrl-C or SIGTERM. What finished is on disk."""


@dataclass(frozen=True, kw_only=True)
class Execution:
    """:param arms: at least one.
    :param progress: see ``Progress``.
    :param ready: called once engine and harnesses are there, before any run folder is made."""

    chosen: Chosen
    arms: Sequence[ArmPlan]
    plugins: Plugins
    engine: str
    attempts: int
    concurrency: int
    sandbox: str | None
    sampling: Sampling
    infra_retries: int
    resume: bool
    progress: Progress | None = None
    ready: Callable[[], None] | None = None
    problems: list[str] = field(default_factory=list)

    @property
    def planned(self) -> int:
        """Of each arm."""
        return len(self.chosen.tasks) * self.attempts

    def run(self) -> None:
        """Do what is not recorded yet.

        :raises BadInput: nothing was started.
        :raises Stopped: the engine died or a guard kept failing.
        :raises Interrupted: Ctrl-C or SIGTERM.
        """
        if _in_event_loop():
            raise BadInput(
                "an event loop runs here already (a notebook?): call it in a thread of its own, "
                "with await asyncio.to_thread(...)"
            )
        try:
            with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
                runner.run(self._execute())
        except (KeyboardInterrupt, asyncio.CancelledError):
            raise Interrupted from None

    def results(self) -> list[RunResult]:
        """What is on disk by now, by arm."""
        broken = self.chosen.broken
        return [
            RunResult(
                out=arm.out,
                summary=summarise(read_rollouts(arm.out), planned=self.planned, broken=len(broken)),
                problems=(*map(str, broken), *self.problems),
            )
            for arm in self.arms
        ]

    async def _execute(self) -> None:
        _cancel_on_sigterm()
        spec = parse_engine(self.engine)
        sandboxes = await provider(self.sandbox)
        await check_images(self.chosen.tasks, sandboxes)
        toolchains = {arm.parts.harness: await arm.parts.driver.install() for arm in self.arms}
        isolation = await sandboxes.probe()
        for lost in isolation.lost:
            _log.warning("sandbox %s: %s", sandboxes.name, lost)
        async with AsyncExitStack() as stack:
            engine = await stack.enter_async_context(
                open_engine(spec, tasks=self.chosen.tasks, model=self.arms[0].model)
            )
            served = [engine.serving(arm.model or engine.model) for arm in self.arms]
            gateways = await self._gateways(stack, engine)
            if self.ready:
                self.ready()
            folders, setups = [], []
            for arm, model, gateway in zip(self.arms, served, gateways, strict=True):
                toolchain = toolchains[arm.parts.harness]
                manifest = make_manifest(
                    components=arm.parts.provenance,
                    component_options=arm.parts.options,
                    harness=arm.parts.harness,
                    harness_version=toolchain.version,
                    engine={"name": self.engine, **model.flags},
                    template=model.template,
                    model=model.model,
                    sampling=self.sampling,
                    tasks=self.chosen.tasks,
                    attempts=self.attempts,
                    infra_retries=self.infra_retries,
                    concurrency=self.concurrency,
                    sandbox=sandboxes.name,
                    sandbox_lost=isolation.lost,
                    policy=arm.parts.guard.policy_hash,
                    broken=len(self.chosen.broken),
                )
                folder = RunFolder.create(arm.out, manifest, resume=self.resume)
                stack.callback(folder.close)
                folders.append(folder)
                setups.append(
                    Setup(
                        driver=arm.parts.driver,
                        toolchain=toolchain,
                        kinds=arm.parts.kinds,
                        rewards=arm.parts.rewards,
                        gateway=gateway,
                        sandboxes=sandboxes,
                        model=model.model,
                        sampling=self.sampling,
                        hidden=tuple(arm.out.absolute() for arm in self.arms),
                        components=arm.parts.provenance,
                    )
                )
            try:
                await _unless_dead(self._record(folders, setups), engine)
            except Stopped:
                self._derive(folders)
                raise
            self._derive(folders)

    async def _gateways(self, stack: AsyncExitStack, engine: RunningEngine) -> list[Gateway]:
        """By arm: arms with the same guard share one, since a gateway has one guard for all."""
        gateways: dict[int, Gateway] = {}
        for arm in self.arms:
            guard = arm.parts.guard
            if id(guard) not in gateways:
                gateways[id(guard)] = await stack.enter_async_context(
                    Gateway(
                        upstream=Upstream(engine.url, engine.api_key),
                        guard=guard,
                        socket=stack.enter_context(leased_folder("gateway")) / "gateway.sock",
                    )
                )
        return [gateways[id(arm.parts.guard)] for arm in self.arms]

    def _derive(self, folders: Sequence[RunFolder]) -> None:
        for folder in folders:
            try:
                self.problems.extend(derive(folder.path))
            except OSError as error:
                self.problems.append(f"{folder.path}: not all could be written: {error}")

    async def _record(self, folders: Sequence[RunFolder], setups: Sequence[Setup]) -> None:
        """Run what is not finished yet, and record each rollout as it ends."""
        for folder in folders:
            if folder.torn:
                where = f"{folder.path / 'rollouts.log'}"
                self.problems.append(f"{where}: cut off a torn record of {folder.torn} bytes")
        done = [folder.finished().keys() for folder in folders]
        jobs = [
            job
            for job in interleaved(self.chosen.tasks, self.attempts, len(folders))
            if (job.task.id, job.attempt) not in done[job.arm]
        ]

        count, faulty = sum(map(len, done)), Counter[int]()

        async def work(job: Job, number: int) -> Rollout:
            name = f"{file_name(job.task.id, job.attempt)}.{number}"
            with _recording(folders[job.arm]):
                log_dir = folders[job.arm].log_dir(name)
            one = await rollout(job.task, setups[job.arm], log_dir=log_dir, attempt=job.attempt)
            faulty[job.arm] += bool(one.transcript.guard_faults)
            return one

        finished = run_local(
            jobs, work, concurrency=self.concurrency, infra_retries=self.infra_retries
        )
        async with aclosing(finished):
            async for job, one in finished:
                with _recording(folders[job.arm]):
                    folders[job.arm].add(one)
                self.problems.extend(self.plugins.observe(one))
                count += 1
                if self.progress:
                    self.progress(job.arm, one, count, self.planned * len(folders))
                if faulty[job.arm] > MAX_GUARD_FAULT_SHARE * self.planned:
                    fault = next(iter(one.transcript.guard_faults), "see verdicts.log")
                    raise Stopped(f"a guard rule is at fault: {fault}")


@contextmanager
def _recording(folder: RunFolder) -> Iterator[None]:
    """A run that cannot be recorded any more must not go on."""
    try:
        yield
    except OSError as error:
        raise Stopped(f"cannot write to {folder.path}: {error.strerror}") from error


def interleaved(tasks: Sequence[Task], attempts: int, arms: int) -> list[Job]:
    """Every attempt of every task by all arms in turn; who goes first rotates."""
    rounds = [(task, attempt) for task in tasks for attempt in range(attempts)]
    return [
        Job(task=task, attempt=attempt, arm=(first + turn) % arms)
        for first, (task, attempt) in enumerate(rounds)
        for turn in range(arms)
    ]


async def _unless_dead(work: Coroutine[None, None, None], engine: RunningEngine) -> None:
    """Do the work; when the engine dies first, cancel it and say so."""
    working = asyncio.ensure_future(work)
    dead = asyncio.ensure_future(engine.wait_dead())
    try:
        await asyncio.wait({working, dead}, return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise Stopped(f"the engine died: {dead.result()}")
        await working
    finally:
        for future in (working, dead):
            future.cancel()
        await asyncio.gather(working, dead, return_exceptions=True)


def _in_event_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _cancel_on_sigterm() -> None:
    """End as on Ctrl-C, which ``asyncio.Runner`` handles; only the main thread gets signals."""
    if threading.current_thread() is threading.main_thread():
        task = asyncio.current_task()
        assert task is not None
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
