"""One training process: one recipe, one adapter, from its first version to its last."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness_adapters.plugins import Plugins
from harness_adapters.record.folder import RunFolder, derive
from harness_adapters.record.manifest import Manifest
from harness_adapters.tasks.mixture import Mixture
from harness_adapters.train.arguments import lora_config, trainer_config
from harness_adapters.train.crew import Crew
from harness_adapters.train.development import Development
from harness_adapters.train.folder import (
    TrainingFolder,
    TrainingManifest,
    read_evaluations,
    write_training,
)
from harness_adapters.train.groups import Scored, Scoring
from harness_adapters.train.live_view import canary_metrics, evaluation_metrics, show_blocked
from harness_adapters.train.loop_thread import LoopThread
from harness_adapters.train.plan import RunPlan
from harness_adapters.train.preparation import (
    capped_mixture,
    load_tokenizer,
    probe_ids,
    run_parts,
    training_manifest,
)
from harness_adapters.train.publish import Publisher
from harness_adapters.train.resume import Course, Standing
from harness_adapters.train.slots import claim
from harness_adapters.train.store import AdapterStore, Version
from harness_adapters.train.worker import RolloutWorker

if TYPE_CHECKING:
    from harness_adapters.train.trl_seam import TrainedRow, Trainer

EVALUATION_PART = 4
"""An evaluation has one session for so many that are trained on, beside those."""

Tell = Callable[[dict[str, Any]], None]
"""Told what happens, from any thread: ``{"event": "started" | "published" | "step" |
"evaluated", ...}``."""


@dataclass(frozen=True, kw_only=True)
class Trained:
    """What a run came to.

    :ivar adapter: the last version's name.
    :ivar path: its PEFT folder.
    """

    out: Path
    run: str
    steps: int
    adapter: str
    path: Path
    problems: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        return {
            "out": str(self.out),
            "run": self.run,
            "steps": self.steps,
            "adapter": self.adapter,
            "path": str(self.path),
            "problems": list(self.problems),
        }


def train_one(
    plan: RunPlan, *, plugins: Plugins | None = None, tell: Tell | None = None
) -> Trained:
    """Train one adapter in this process; needs the main thread.

    :param tell: called with events; see ``Tell``.
    :raises BadInput: nothing was started.
    :raises TrainingStopped: it cannot go on; what finished is on disk.
    :raises AdapterNotServed: the engine serves something else than the adapter.
    """
    plugins = plugins or Plugins.load()
    recipe = plan.recipe
    mixed = capped_mixture(recipe)
    parts = run_parts(plugins, recipe, mixed)
    with ExitStack() as stack:
        thread = stack.enter_context(LoopThread("rollouts"))
        crew = thread.call(Crew.assemble(plan, parts, [*mixed.train, *mixed.dev]))
        stack.callback(lambda: thread.call(crew.close()))
        made_of = crew.manifest(plan, parts, mixed.train)
        run_folder = RunFolder.create(plan.out, made_of, resume=plan.resume)
        stack.callback(run_folder.close)
        manifest = training_manifest(plan)
        tell = tell or (lambda event: None)
        tell({"event": "started", "run": manifest.run})
        training = TrainingFolder(plan.out)
        stack.callback(training.close)
        run = _Run(
            plan=plan,
            manifest=manifest,
            mixed=mixed,
            thread=thread,
            crew=crew,
            run_folder=run_folder,
            training=training,
            evaluated=crew.manifest(plan, parts, mixed.dev),
            plugins=plugins,
            tell=tell,
        )
        stack.callback(run.store.close)
        if done := run.finished():
            return done
        for url, client in crew.clients.items():
            loaded = thread.call(client.names())
            stack.enter_context(
                claim(
                    url,
                    run=manifest.run,
                    needed=recipe.lora_slots,
                    slots=plan.slots,
                    loaded=[name for name in loaded if name != plan.base],
                )
            )
        return run.train()


class _Run:
    """The run itself, and its hooks into the trainer's loop."""

    def __init__(
        self,
        *,
        plan: RunPlan,
        manifest: TrainingManifest,
        mixed: Mixture,
        thread: LoopThread,
        crew: Crew,
        run_folder: RunFolder,
        training: TrainingFolder,
        evaluated: Manifest,
        plugins: Plugins,
        tell: Tell,
    ) -> None:
        recipe = plan.recipe
        self._plan = plan
        self._manifest = manifest
        self._mixed = mixed
        self._thread = thread
        self._training = training
        self._tell = tell
        self.staging = training.staging
        self.standing = Standing.read(plan.out)
        self.store = AdapterStore(
            plan.out / "adapters",
            model=recipe.model_slug,
            harness=recipe.harness.replace("_", "-"),
            run=manifest.run,
        )
        scoring = Scoring(
            min_group=recipe.rollouts.min_group,
            std_floor=recipe.advantage.std_floor,
            scale=recipe.advantage.scale,
            longest=recipe.optimizer.token_budget,
            shuffled=recipe.seed if recipe.advantage.shuffled else None,
        )
        course = Course(
            mixture=mixed,
            seed=recipe.seed,
            group_size=recipe.rollouts.group_size,
            max_staleness=recipe.rollouts.max_staleness,
            standing=self.standing,
            scoring=scoring,
            steps=self.store.steps,
        )
        self._tokenizer = load_tokenizer(recipe.model)
        self._probe = probe_ids(self._tokenizer)
        self._publisher = Publisher(
            crew.clients,
            base=plan.base,
            store=self.store,
            probe=self._probe,
            keep=recipe.evaluation.every,
        )
        self._proved = False
        self._last: Version | None = None
        from harness_adapters.train.trl_seam import to_sample

        self._worker = RolloutWorker(
            thread=thread,
            replicas=crew.replicas,
            publisher=self._publisher,
            recipe=recipe,
            scoring=scoring,
            waiting=list[Scored](course.waiting()),
            visits=course.visits(),
            steps=self.store.steps,
            run_folder=run_folder,
            training=training,
            plugins=plugins,
            convert=to_sample,
            policy_step=self.standing.step,
        )
        concurrency = max(1, recipe.rollouts.in_flight // EVALUATION_PART)
        fields = {"attempts": recipe.evaluation.attempts, "concurrency": concurrency}
        self._development = Development(
            tasks=mixed.dev,
            every=recipe.evaluation.every,
            run=plan.out,
            manifest=evaluated.model_copy(update=fields),
            done=list(read_evaluations(plan.out)),
            play=self._worker.play,
            using=self._publisher.using,
            tell=self._evaluated,
        )

    def train(self) -> Trained:
        from harness_adapters.train.adapted import adapted
        from harness_adapters.train.trl_seam import make_trainer

        recipe = self._plan.recipe
        trainer = make_trainer(
            model=recipe.model,
            config=trainer_config(recipe, run=self._manifest.run, folder=self.staging),
            lora=lora_config(recipe),
            prompts=[task.instruction for task in self._mixed.train],
            tokenizer=self._tokenizer,
            worker=self._worker,
            hooks=self,
        )
        self.store.about = adapted(trainer.accelerator.unwrap_model(trainer.model))
        write_training(
            self._plan.out, self._manifest.model_copy(update={"adapted": self.store.about})
        )
        self._thread.call(self._publisher.open(self._manifest.run))
        try:
            checkpoint = self.standing.checkpoint
            trainer.train(resume_from_checkpoint=str(checkpoint) if checkpoint else None)
            self._worker.stop()
            self._thread.call(self._development.finish())
        finally:
            self._thread.call(self._development.stop())
            self._worker.stop()
            self._thread.call(self._publisher.close())
        problems = [*self._worker.problems, *derive(self._plan.out)]
        assert self._last is not None
        return Trained(
            out=self._plan.out,
            run=self._manifest.run,
            steps=trainer.state.global_step,
            adapter=self._last.name,
            path=self._last.path,
            problems=tuple(problems),
        )

    def finished(self) -> Trained | None:
        """The result of a run that has all its steps already."""
        if self.standing.step < self._plan.recipe.steps:
            return None
        of_last_step = [
            name for name, step in self.store.steps.items() if step == self.standing.step
        ]
        for name in reversed(of_last_step):
            if (path := self.store.folder / name).is_dir():
                return Trained(
                    out=self._plan.out,
                    run=self._manifest.run,
                    steps=self.standing.step,
                    adapter=name,
                    path=path,
                )
        return None  # it was killed between its last checkpoint and its last version

    # --- hooks, called in the trainer's loop ------------------------------------------------------

    def publish(self, trainer: Trainer, step: int) -> None:
        if not self._proved:
            with trainer.proof(self._probe) as expected:
                proof = self.store.add(trainer.save_adapter, step=None)
                self._thread.call(self._publisher.prove(proof, expected))
            self._proved = True
        started = time.monotonic()
        version = self.store.add(trainer.save_adapter, step=step)
        reports = self._thread.call(self._publisher.publish(version, trainer.expect(self._probe)))
        self._last = version
        self._thread.call(self._development.begin(version))
        self._worker.metrics_queue.put(
            {"publish/seconds": time.monotonic() - started, **canary_metrics(reports)}
        )
        self._tell({"event": "published", "adapter": version.name, "step": step})

    def step_metrics(
        self, step: int, rows: Sequence[TrainedRow]
    ) -> dict[str, float | tuple[float, float]]:
        policy = step - 1
        lags = [policy - one.row.step for one in rows]
        return {
            "staleness/trained": (float(sum(lags)), float(len(lags))),
            "staleness/trained_max": float(max(lags)),
            "rows/late_total": float(sum(one.late for one in rows)),
        }

    def stepped(self, step: int, rows: Sequence[TrainedRow], metrics: Mapping[str, float]) -> None:
        assert self._last is not None
        self._training.add_step(
            {
                "step": step,
                "time": time.time(),
                "trained": self._last.name,
                "rows": [{"tag": one.row.tag, "sampled": one.row.version} for one in rows],
                "metrics": dict(metrics),
            }
        )
        blocked = [self._worker.blocked.popleft() for _ in range(len(self._worker.blocked))]
        if blocked and self._plan.recipe.trackio.enabled:
            show_blocked(step, blocked)
        self._tell({"event": "step", "step": step, "metrics": dict(metrics)})

    def _evaluated(self, record: dict[str, Any]) -> None:
        """Called in the loop's thread."""
        self._training.add_evaluation({**record, "time": time.time()})
        self._worker.metrics_queue.put(evaluation_metrics(record))
        self._tell({"event": "evaluated", **record})

    def checkpointed(self, staged: Path, step: int) -> None:
        self._training.keep_checkpoint(staged, step)
