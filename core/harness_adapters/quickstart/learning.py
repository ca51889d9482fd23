"""The quick start itself: train a small policy's adapters, then compare them with their base."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean as mean
from typing import Any

import orjson

from harness_adapters.errors import BadInput, InfraError
from harness_adapters.evaluation.arms import TaskResult
from harness_adapters.evaluation.compare import Comparison, compare
from harness_adapters.evaluation.evaluate import evaluate
from harness_adapters.evaluation.pairs import mean_of
from harness_adapters.plugins import canonical
from harness_adapters.quickstart.policy import ENGINES, Policy, find_policy
from harness_adapters.quickstart.tasks import held_out_for, write_tasks
from harness_adapters.record import log
from harness_adapters.record.folder import write_whole
from harness_adapters.serve.adapter_client import AdapterClient, AdapterExists
from harness_adapters.serve.engine import RunningEngine, open_engine, parse_engine
from harness_adapters.serve.vllm.flags import vllm_python
from harness_adapters.train.deviations import deviations
from harness_adapters.train.hosting import hosting_of
from harness_adapters.train.loop_thread import LoopThread
from harness_adapters.train.recipe import Recipe, load_recipe
from harness_adapters.train.training import train
from harness_adapters.types import Rollout

TRAINING_SHARE = 0.65
"""Of the minutes: what is left is for comparing the adapter with its base."""
CONCURRENCY = 6
STATE = "quickstart.json"
_MOST_STEPS = 10_000


class _TimeIsUp(Exception):
    """Raised where training tells of a version; what it has published so far is the result."""


@dataclass(frozen=True, kw_only=True)
class Progress:
    """Told what happens.

    :ivar say: one line on what begins.
    :ivar step: harness, number of the step, its metrics.
    :ivar rollout: arm, rollout, how many are done of how many.
    """

    say: Callable[[str], None]
    step: Callable[[str, int, Mapping[str, float]], None]
    rollout: Callable[[str, Rollout, int, int], None]


@dataclass(frozen=True, kw_only=True)
class Learned:
    """One harness's adapter beside its base.

    :ivar policy: what reports call the base.
    :ivar steps: optimizer steps behind the adapter.
    :ivar training: the training run's folder.
    :ivar evaluation: the folder whose arms ``comparison`` compares.
    :ivar adapter: the PEFT folder.
    """

    policy: str
    harness: str
    steps: int
    training: Path
    evaluation: Path
    adapter: Path
    comparison: Comparison
    deviations: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        compared = self.comparison.to_json()
        pairs = self.comparison.runs[0].pairs
        return {
            "harness": self.harness,
            "base": _headline([pair.base for pair in pairs]),
            "adapter": _headline([pair.run for pair in pairs]),
            "diff_pass1": compared["diff_pass1"],
            "calls_ratio": compared["calls_ratio"],
            "steps": self.steps,
            "adapter_dir": str(self.adapter),
            "deviations": list(self.deviations),
        }


@dataclass(frozen=True, kw_only=True)
class _Run:
    """What one harness's training is and where it lies."""

    recipe: Recipe
    folder: Path

    @property
    def harness(self) -> str:
        return self.recipe.harness


@dataclass(frozen=True, kw_only=True)
class _Version:
    name: str
    steps: int
    path: Path


def quickstart(
    out: Path,
    *,
    minutes: float = 10.0,
    seed: int = 0,
    harnesses: Sequence[str] = ("pi",),
    policy: str = "tiny",
    engine: str | None = None,
    held_out: int | None = None,
    recipe: Recipe | None = None,
    resume: bool = False,
    sandbox: str | None = None,
    progress: Progress,
) -> list[Learned]:
    """Train one adapter per harness, all at once on one engine, and compare each with its base.

    :param out: a new folder, or with ``resume`` one to go on with.
    :param minutes: of training and comparing together.
    :param policy: ``tiny`` or ``smollm2``.
    :param engine: ``embedded`` or ``vllm``, which serves it on half of the cores; by default the
        policy's own.
    :param held_out: tasks of the comparison, each about a table of its own; by default 80, or 40
        for each of several harnesses and for a policy that takes long.
    :param recipe: instead of the shipped one; model, harness, tasks, steps and seed are set here.
    :raises BadInput: nothing was started; the message says what to do.
    :raises MissingPrerequisite: the policy, or what serves it, is not there.
    :raises InfraError: training stopped by itself.
    """
    names = [canonical(name) for name in harnesses]
    if not names or len(set(names)) < len(names):
        raise BadInput("name at least one harness, and each once")
    learner = find_policy(policy, names)
    engine = engine or learner.engine
    if engine not in ENGINES:
        raise BadInput(f"a quick start runs on {' or '.join(ENGINES)}, not on {engine!r}")
    compared = held_out or min(learner.held_out, held_out_for(len(names)))
    model = learner.folder()
    if engine == "vllm":
        vllm_python()  # or says what installs it
    wanted = {
        **{"minutes": minutes, "seed": seed, "harnesses": names},
        **{"policy": policy, "engine": engine, "held_out": compared},
    }
    trained = _trained(out, wanted, resume=resume)
    tasks = out / "tasks"
    if not tasks.is_dir():
        progress.say(f"writing tasks into {tasks}")
        write_tasks(tasks, seed=seed, held_out=compared)
        _write_state(out, wanted, trained=False)
    changes = {"model": str(model), "seed": seed, "tasks": {"path": tasks.absolute()}}
    shipped = (recipe or load_recipe(learner.recipe)).replace({**changes, "steps": _MOST_STEPS})
    runs = _runs(shipped, names, out / "train")
    served = f"{engine}:{model}"
    with _engine(served, [run.recipe for run in runs], progress) as (running, thread):
        if not trained:
            _train(runs, running, 60 * minutes * TRAINING_SHARE, resume, sandbox, progress)
            _write_state(out, wanted, trained=True)
        adapters = {run.harness: _last_version(run.folder) for run in runs}
        thread.call(_load(running, adapters.values()))
        return [
            _compared(learner, run, adapters[run.harness], running, out / "eval", sandbox, progress)
            for run in runs
        ]


# --- the folder -----------------------------------------------------------------------------------


def _trained(out: Path, wanted: Mapping[str, Any], *, resume: bool) -> bool:
    """Whether training is over in the folder that is gone on with.

    :raises BadInput: the folder is in use, or was begun with something else.
    """
    file = out / STATE
    if not file.exists():
        if out.exists() and (not out.is_dir() or any(out.iterdir())):
            raise BadInput(f"{out} exists and is no quick start; name a new folder")
        return False
    if not resume:
        raise BadInput(f"{out} holds a quick start; go on with --resume, or name a new folder")
    state = orjson.loads(file.read_bytes())
    for name, value in wanted.items():
        if state.get(name) != value:
            raise BadInput(f"{out} was begun with {name} {state.get(name)}, not {value}")
    return bool(state["trained"])


def _write_state(out: Path, wanted: Mapping[str, Any], *, trained: bool) -> None:
    state = {**wanted, "trained": trained}
    write_whole(out / STATE, orjson.dumps(state, option=orjson.OPT_INDENT_2) + b"\n")


def _runs(recipe: Recipe, harnesses: Sequence[str], root: Path) -> list[_Run]:
    recipes = [recipe.replace({"harness": name}) for name in harnesses]
    if len(recipes) == 1:
        return [_Run(recipe=recipes[0], folder=root)]
    return [_Run(recipe=one, folder=root / f"{one.model_slug}.{one.harness}") for one in recipes]


def _last_version(training: Path) -> _Version:
    """The version with the most steps that is whole on disk."""
    folder = training / "adapters"
    found = [
        _Version(name=record["name"], steps=record["step"], path=folder / record["name"])
        for record in log.read(folder / "versions.log")
        if record["step"] is not None and (folder / record["name"]).is_dir()
    ]
    return max(found, key=lambda version: version.steps)


# --- the engine -----------------------------------------------------------------------------------


@contextmanager
def _engine(
    served: str, recipes: Sequence[Recipe], progress: Progress
) -> Iterator[tuple[RunningEngine, LoopThread]]:
    """The engine that all of it runs on, kept by a loop in a thread of its own."""
    hosting = replace(
        hosting_of(recipes),
        cores=max(1, len(os.sched_getaffinity(0)) // 2),  # the others are the trainer's
        vllm_flags=("--dtype", "float32"),
    )
    opened = open_engine(parse_engine(served), tasks=(), hosting=hosting, progress=progress.say)
    with LoopThread("engine") as thread:
        engine = thread.call(opened.__aenter__())
        try:
            yield engine, thread
        finally:
            thread.call(opened.__aexit__(None, None, None))


async def _load(engine: RunningEngine, versions: Iterable[_Version]) -> None:
    async with AdapterClient(engine.url, engine.api_key) as client:
        for version in versions:
            try:
                await client.load(version.name, version.path)
            except AdapterExists:  # names are never used twice, so it is this very version
                continue


# --- training and comparing -----------------------------------------------------------------------


def _train(
    runs: Sequence[_Run],
    engine: RunningEngine,
    seconds: float,
    resume: bool,
    sandbox: str | None,
    progress: Progress,
) -> None:
    """Train all at once until the time is up; each step leaves a version behind."""
    progress.say(
        f"training for {seconds / 60:.1f} minutes in " + ", ".join(run.harness for run in runs)
    )
    harness_of = {run.folder.absolute(): run.harness for run in runs}
    steps = dict.fromkeys(harness_of, 0)
    started: float | None = None

    def told(folder: Path, event: Mapping[str, Any]) -> None:
        nonlocal started
        if event["event"] == "step":
            steps[folder] = event["step"]
            progress.step(harness_of[folder], event["step"], event["metrics"])
        if event["event"] != "published":
            return
        if started is None:  # all before the first version is set-up, and differs by machine
            started = time.monotonic()
        if time.monotonic() - started > seconds and all(steps.values()):
            raise _TimeIsUp

    begun = resume and all((run.folder / "training.json").exists() for run in runs)
    root = runs[0].folder if len(runs) == 1 else runs[0].folder.parent
    try:
        training = train(
            [run.folder for run in runs] if begun else [run.recipe for run in runs],
            engine=engine.url,
            out=None if begun else root,
            resume=begun,
            sandbox=sandbox,
            progress=told,
        )
    except _TimeIsUp:
        return
    for folder, why in training.failures.items():
        raise InfraError(f"training in {folder} stopped: {why}")


def _compared(
    policy: Policy,
    run: _Run,
    adapter: _Version,
    engine: RunningEngine,
    root: Path,
    sandbox: str | None,
    progress: Progress,
) -> Learned:
    """The adapter beside its base on the held-out tasks, their attempts interleaved."""
    table = run.recipe.tasks
    assert table.path is not None
    out = root / run.harness
    progress.say(f"comparing {adapter.name} with {engine.model} on held-out tasks")
    evaluation = evaluate(
        table.path,
        split="test",
        models=[engine.model, adapter.name],
        harnesses=[run.harness],
        engine=engine.url,
        out=out,
        concurrency=CONCURRENCY,
        guards=run.recipe.guards,
        rewards=run.recipe.rewards,
        options=run.recipe.options,
        sandbox=sandbox,
        resume=out.exists(),
        progress=lambda arm, rollout, done, of: progress.rollout(arm.label, rollout, done, of),
    )
    base, other = (arm.out for arm in evaluation.runs)
    return Learned(
        policy=policy.title,
        harness=run.harness,
        steps=adapter.steps,
        training=run.folder,
        evaluation=out,
        adapter=adapter.path,
        comparison=compare(base, other),
        deviations=tuple(deviations(run.recipe.replace({"steps": adapter.steps}))),
    )


def _headline(results: Sequence[TaskResult]) -> dict[str, float]:
    """Means over the tasks that both arms finished, solved or not."""
    return {
        "pass1": mean(result.pass_rate for result in results),
        "calls": mean(
            mean_of(result.attempts, lambda one: one.calls, only_solved=False) for result in results
        ),
    }
