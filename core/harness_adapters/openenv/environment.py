"""Our tasks as an OpenEnv environment: an agent plays one by hand, or a harness plays it.

::

    app = make_app("examples/tasks", engine="http://127.0.0.1:8000", harness="pi")

is what ``uvicorn`` serves; each client has a session and a sandbox of its own.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, Literal

import uvloop
from openenv.core.env_server import Environment, create_app
from openenv.core.env_server.types import Action, Observation, State
from pydantic import Field

from harness_adapters.errors import BadInput, did_you_mean
from harness_adapters.openenv.traces import training_trace
from harness_adapters.parts import check_tasks, make_kinds
from harness_adapters.plugins import Plugins
from harness_adapters.protocols import TaskKind
from harness_adapters.runs import run
from harness_adapters.sandbox.base import Sandbox, SandboxProvider, SandboxSpec
from harness_adapters.sandbox.providers import provider
from harness_adapters.tasks.bundle import load_tasks
from harness_adapters.tasks.images import image_for
from harness_adapters.tasks.workspace import writable_folders
from harness_adapters.types import Rollout, Task

MAX_OUTPUT = 64 * 1024
MAX_SECONDS = 600.0


class TaskAction(Action):  # type: ignore[misc]
    """One step.

    :param do: run ``command`` with bash in the sandbox; ``submit`` what lies in the working folder;
        or let the served harness and engine play the task in a sandbox of their own, ``rollout``.
    :param seconds: after which a command is ended.
    """

    do: Literal["command", "submit", "rollout"] = "command"
    command: str = ""
    seconds: float = Field(default=60.0, gt=0, le=MAX_SECONDS)


class TaskObservation(Observation):  # type: ignore[misc]
    """What came of a step; ``reward`` and ``done`` are set by ``submit`` and ``rollout``.

    :param instruction: after ``reset`` only.
    :param returncode: of a command; negative for a signal.
    :param outcome: of a rollout, as in its record.
    :param training_trace: of a rollout whose engine gives token ids; OpenEnv's ``TrainingTrace``.
    """

    instruction: str = ""
    stdout: str = ""
    stderr: str = ""
    returncode: int | None = None
    timed_out: bool = False
    outcome: str = ""
    training_trace: dict[str, Any] | None = None


class TaskState(State):  # type: ignore[misc]
    """Which task is being played; its instruction came with ``reset``."""

    task: str = ""
    kind: str = ""


class TaskEnvironment(Environment):  # type: ignore[misc]
    """One episode is one task. Commands run without a network and without the guard, which stands
    between a harness and its model. Not to be used inside a running event loop.

    :param tasks: at least one, all of kinds that are installed.
    :param engine: of rollouts, as in ``harness_adapters.run``; empty where none are served.
    """

    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(
        self,
        tasks: Sequence[Task],
        *,
        engine: str = "",
        harness: str = "pi",
        model: str | None = None,
        sandbox: str | None = None,
    ) -> None:
        super().__init__()
        self._tasks = {task.id: task for task in tasks}
        self._engine, self._harness, self._model = engine, harness, model
        self._provider = sandbox
        self._runner = asyncio.Runner(loop_factory=uvloop.new_event_loop)
        self._stack = AsyncExitStack()
        self._sandbox: Sandbox | None = None
        self._sandboxes: SandboxProvider | None = None
        self._task: Task | None = None
        self._kind: TaskKind | None = None
        self._state = TaskState()

    def reset(
        self,
        seed: int | None = None,
        episode_id: str | None = None,
        task: str | None = None,
        split: str | None = None,
        index: int | None = None,
    ) -> TaskObservation:
        """Start a task: by id, by split and index, by seed, or else the first.

        :raises BadInput: there is no such task.
        """
        chosen = self._choose(task, split, index, seed)
        self._task = chosen
        self._kind = make_kinds(Plugins.load(), {chosen.kind})[chosen.kind]
        self._state = TaskState(episode_id=episode_id, task=chosen.id, kind=chosen.kind)
        self._runner.run(self._end())
        self._runner.run(self._begin(chosen, self._kind))
        return TaskObservation(instruction=chosen.instruction)

    def step(self, action: TaskAction, timeout_s: float | None = None) -> TaskObservation:
        """:raises BadInput: no episode is under way, or no rollouts are served."""
        if self._task is None or self._sandbox is None:
            raise BadInput("no task is being played; reset first")
        self._state.step_count += 1
        if action.do == "command":
            seconds = min(action.seconds, timeout_s or action.seconds)
            return self._runner.run(self._command(self._sandbox, action.command, seconds))
        if action.do == "submit":
            try:
                return self._runner.run(self._submit(self._task, self._sandbox))
            finally:
                self._runner.run(self._end())
        self._runner.run(self._end())
        return self._rollout(self._task)

    @property
    def state(self) -> TaskState:
        return self._state

    def close(self) -> None:
        """Nothing of the sandbox is left."""
        self._runner.run(self._end())
        self._runner.close()

    # --- what there is to play ------------------------------------------------------------------

    def list_splits(self) -> list[str]:
        return sorted({task.metadata.split for task in self._tasks.values()})

    def list_tasks(self, split: str) -> list[dict[str, Any]]:
        return [
            {"id": task.id, "index": index, "kind": task.kind}
            for index, task in enumerate(self._of(split))
        ]

    def num_tasks(self, split: str) -> int:
        return len(self._of(split))

    def get_task(self, split: str, index: int) -> dict[str, Any]:
        return self.list_tasks(split)[index]

    def get_task_range(
        self, split: str, start: int | None = None, stop: int | None = None
    ) -> list[dict[str, Any]]:
        return self.list_tasks(split)[start:stop]

    def _of(self, split: str) -> list[Task]:
        return [task for task in self._tasks.values() if task.metadata.split == split]

    def _choose(
        self, name: str | None, split: str | None, index: int | None, seed: int | None
    ) -> Task:
        if name is not None:
            if name not in self._tasks:
                raise BadInput(f"no task {name!r}{did_you_mean(name, self._tasks)}")
            return self._tasks[name]
        pool = list(self._tasks.values()) if split is None else self._of(split)
        if not pool or (index is not None and not 0 <= index < len(pool)):
            raise BadInput(f"{len(pool)} tasks in {split or 'all'}: no number {index}")
        return pool[index if index is not None else (seed or 0) % len(pool)]

    # --- in the loop ----------------------------------------------------------------------------

    async def _begin(self, task: Task, kind: TaskKind) -> None:
        if self._sandboxes is None:
            self._sandboxes = await provider(self._provider)
        spec = SandboxSpec(
            workdir=task.workdir,
            writable=writable_folders(task),
            hidden=(task.path,),
            environment=task.environment,
            image=image_for(task, self._sandboxes),
        )
        sandbox = await self._stack.enter_async_context(self._sandboxes.open(spec))
        await kind.prepare(task, sandbox)
        self._sandbox = sandbox

    async def _end(self) -> None:
        self._sandbox = None
        await self._stack.aclose()

    async def _command(self, sandbox: Sandbox, command: str, seconds: float) -> TaskObservation:
        result = await sandbox.exec(["bash", "-c", command], timeout=seconds, max_output=MAX_OUTPUT)
        return TaskObservation(
            stdout=result.stdout.decode(errors="replace"),
            stderr=result.stderr.decode(errors="replace"),
            returncode=result.returncode,
            timed_out=result.timed_out,
        )

    async def _submit(self, task: Task, sandbox: Sandbox) -> TaskObservation:
        assert self._kind is not None
        assert self._sandboxes is not None
        await sandbox.freeze()
        verdict = await self._kind.verify(task, sandbox, self._sandboxes)
        about = {"passed": verdict.passed, "self_graded": verdict.self_graded}
        return TaskObservation(done=True, reward=verdict.score, metadata=about)

    def _rollout(self, task: Task) -> TaskObservation:
        if not self._engine:
            raise BadInput("no rollouts are served: no engine was named")
        with tempfile.TemporaryDirectory(prefix="ha-openenv-") as folder:
            result = run(
                [task],
                harness=self._harness,
                engine=self._engine,
                model=self._model,
                sandbox=self._provider,
                out=Path(folder) / "run",
            )
            return _played(next(result.rollouts()))


def make_app(
    tasks: Path | str, *, max_concurrent_envs: int = 4, **options: Any
) -> Any:  # a FastAPI application
    """The application that serves a folder of tasks.

    :param options: of ``TaskEnvironment``.
    :raises BadInput: a task of the folder cannot be read or run.
    """
    loaded, broken = load_tasks(tasks)
    plugins = Plugins.load()
    kinds = make_kinds(plugins, {task.kind for task in loaded})
    good, more = check_tasks(plugins, kinds, loaded)
    for error in (*broken, *more):
        raise BadInput(str(error))
    return create_app(
        lambda: TaskEnvironment(good, **options),
        TaskAction,
        TaskObservation,
        env_name="harness_adapters",
        max_concurrent_envs=max_concurrent_envs,
    )


def _played(rollout: Rollout) -> TaskObservation:
    exact = rollout.transcript.token_exact
    return TaskObservation(
        done=True,
        reward=rollout.reward,
        outcome=rollout.outcome.value,
        training_trace=training_trace(rollout.transcript) if exact else None,
        metadata={"calls": rollout.calls, "seconds": rollout.seconds, "error": rollout.error},
    )
