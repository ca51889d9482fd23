"""``ha.train(...)``: recipes side by side on one engine, of which ``ha train`` is a thin shell.

The engine is opened once, here; each recipe is trained by a process of its own, so that none waits
for another. All end with this process, however that ends.
"""

from __future__ import annotations

import asyncio
import signal
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any

import orjson
import uvloop

from harness_adapters.errors import BadInput, MissingPrerequisite
from harness_adapters.plugins import Plugins
from harness_adapters.record.folder import check_run_folder
from harness_adapters.serve.engine import EngineSpec, RunningEngine, open_engine
from harness_adapters.train.hosting import hosting_of
from harness_adapters.train.plan import LOG, RunPlan
from harness_adapters.train.recipe import Recipe
from harness_adapters.train.wanted import Wanted, engine_specs, keeping_thinking, wanted_runs

STOP_SECONDS = 60.0
CAPACITY = frozenset({"url", "port", "adapters", "slots", "requests", "rank"})
"""Facts about an engine that differ with the runs that share it; no reason not to resume."""
EVENT_BYTES = 64 * 1024 * 1024
NEEDED = ("torch", "trl", "peft", "transformers", "datasets", "requests")

Progress = Callable[[Path, dict[str, Any]], None]
"""Called with a run's folder and what happened in it: ``{"event": "started" | "published" |
"step" | "done" | "failed", ...}``; a step has ``step`` and ``metrics``."""


@dataclass(frozen=True, kw_only=True)
class Training:
    """What came of it.

    :ivar runs: per finished run ``out``, ``run``, ``steps``, ``adapter`` (its name), ``path`` (its
        PEFT folder) and ``problems``.
    :ivar failures: run folder -> why it stopped. What finished of it is on disk.
    """

    runs: tuple[dict[str, Any], ...]
    failures: dict[Path, str]


class TrainingInterrupted(KeyboardInterrupt):
    """Ctrl-C or SIGTERM; every run can be gone on with."""


def train(
    recipes: Recipe | Path | str | Sequence[Recipe | Path | str],
    *,
    engine: str | Sequence[str] | None = None,
    out: Path | str | None = None,
    steps: int | None = None,
    resume: bool = False,
    sandbox: str | None = None,
    plugins: Plugins | None = None,
    progress: Progress | None = None,
) -> Training:
    """Train one adapter per recipe, all at once, on one engine.

    :param recipes: recipe objects, files or names of shipped ones; with ``resume`` also folders
        of runs to go on with.
    :param engine: ``embedded[:MODEL]``, ``vllm[:MODEL]`` (by default the recipes' model), or the
        URL of one that runs; several URLs are replicas of one server. With ``resume`` by default
        the engine of the first run.
    :param out: the run folder of one recipe, or the folder of all runs; by default below ``runs/``.
    :param steps: instead of the recipes' own number.
    :param resume: go on from the last checkpoints.
    :raises BadInput: nothing was started; the message says what to do.
    :raises TrainingInterrupted: Ctrl-C.
    """
    plugins = plugins or Plugins.load()
    _check_packages()
    given = [recipes] if isinstance(recipes, Recipe | Path | str) else list(recipes)
    wanted = wanted_runs(given, out=out, steps=steps, resume=resume)
    specs = engine_specs(engine, wanted, resume=resume)
    for one in wanted:
        check_recipe(one.recipe, plugins)
        check_run_folder(one.out, resume=resume)
    return _Session(
        wanted=wanted, specs=specs, resume=resume, sandbox=sandbox, progress=progress
    ).run()


def check_recipe(recipe: Recipe, plugins: Plugins) -> None:
    """Whatever can be known to be missing before anything is started.

    :raises BadInput: the tasks, or a component, cannot be used.
    """
    from harness_adapters.parts import make_parts
    from harness_adapters.train.needs import recipe_mixture

    recipe_mixture(recipe)
    make_parts(
        plugins,
        harness=recipe.harness,
        kinds={},
        guards=recipe.guards,
        rewards=recipe.rewards,
        options=recipe.options,
    )


def _check_packages() -> None:
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        raise MissingPrerequisite(
            f"training needs {', '.join(missing)}: pip install 'harness-adapters[train]'"
        )


# --- the processes --------------------------------------------------------------------------------


@dataclass(kw_only=True)
class _Session:
    wanted: Sequence[Wanted]
    specs: Sequence[EngineSpec]
    resume: bool
    sandbox: str | None
    progress: Progress | None

    def __post_init__(self) -> None:
        self._done: dict[Path, dict[str, Any]] = {}
        self._failures: dict[Path, str] = {}
        self._bad: set[Path] = set()

    def run(self) -> Training:
        try:
            with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
                runner.run(self._run())
        except (KeyboardInterrupt, asyncio.CancelledError):
            raise TrainingInterrupted from None
        if len(self._bad) == len(self.wanted):
            raise BadInput("; ".join(self._failures.values()))
        return Training(runs=tuple(self._done.values()), failures=self._failures)

    async def _run(self) -> None:
        task = asyncio.current_task()
        assert task is not None
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
        hosting = hosting_of([one.recipe for one in self.wanted])
        async with AsyncExitStack() as stack:
            engines = [
                await stack.enter_async_context(open_engine(spec, tasks=(), hosting=hosting))
                for spec in keeping_thinking(self.specs, self.wanted)
            ]
            ours = self.specs[0].kind != "url"
            plans = [
                self._plan(one, engines, hosting.adapters if ours else None) for one in self.wanted
            ]
            dead = asyncio.ensure_future(engines[0].wait_dead())
            children = [asyncio.ensure_future(self._child(plan)) for plan in plans]
            try:
                await _all_or_first(children, dead)
            finally:
                for child in children:
                    child.cancel()
                await asyncio.gather(*children, return_exceptions=True)
                dead.cancel()
            if dead.done():
                for plan in plans:
                    if plan.out not in self._done:
                        self._failures[plan.out] = f"the engine died: {dead.result()}"

    def _plan(self, one: Wanted, engines: Sequence[RunningEngine], slots: int | None) -> RunPlan:
        first = engines[0]
        return RunPlan(
            recipe=one.recipe,
            urls=tuple(engine.url for engine in engines),
            api_key=first.api_key,
            engine=",".join(map(str, self.specs)),
            flags={name: value for name, value in first.flags.items() if name not in CAPACITY},
            template=first.template,
            base=first.model,
            slots=slots,
            out=one.out.absolute(),
            resume=self.resume,
            sandbox=self.sandbox,
        )

    async def _child(self, plan: RunPlan) -> None:
        """One training process, until it ends."""
        out = plan.out
        with tempfile.TemporaryFile() as errors:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "harness_adapters.train"),
                stdin=asyncio.subprocess.PIPE,  # stays open: its end is the child's end
                stdout=asyncio.subprocess.PIPE,
                stderr=errors,  # until it has a run folder to keep its log in
                start_new_session=True,  # Ctrl-C comes through us: the engine is still there then
                limit=EVENT_BYTES,
            )
            try:
                await self._follow(process, plan)
            finally:
                if process.returncode is None:
                    process.terminate()
                    try:
                        async with asyncio.timeout(STOP_SECONDS):
                            await process.wait()
                    except TimeoutError:
                        process.kill()
                        await process.wait()
            if out not in self._done and out not in self._failures:
                self._failures[out] = _how_it_ended(process, errors, out / LOG)

    async def _follow(self, process: asyncio.subprocess.Process, plan: RunPlan) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(plan.model_dump_json().encode() + b"\n")
        async for line in process.stdout:
            event = orjson.loads(line)
            if event["event"] == "done":
                self._done[plan.out] = {k: v for k, v in event.items() if k != "event"}
            elif event["event"] == "failed":
                self._failures[plan.out] = event["message"]
                if event["bad_input"]:
                    self._bad.add(plan.out)
            if self.progress:
                self.progress(plan.out, event)
        await process.wait()


def _how_it_ended(process: asyncio.subprocess.Process, errors: IO[bytes], log: Path) -> str:
    if log.exists():
        return f"its process ended with {process.returncode}; see {log}"
    errors.seek(0)
    lines = errors.read()[-4096:].decode("utf-8", "replace").splitlines()
    return (
        f"its process ended with {process.returncode}: {lines[-1] if lines else 'no reason given'}"
    )


async def _all_or_first(
    children: Sequence[asyncio.Future[None]], dead: asyncio.Future[str]
) -> None:
    """Until all children are done, or the engine is dead."""
    left: set[asyncio.Future[Any]] = set(children)
    while left and not dead.done():
        done, _ = await asyncio.wait({*left, dead}, return_when=asyncio.FIRST_COMPLETED)
        for child in done & left:
            child.result()
        left -= done
