"""Several models over one engine in one go: ``ha.evaluate(...)``, behind ``ha eval``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness_adapters.chosen import choose_tasks
from harness_adapters.errors import BadInput, HarnessAdaptersError
from harness_adapters.evaluation.compare import MARGIN
from harness_adapters.evaluation.plan import (
    ArmName,
    Design,
    Plan,
    check_folder,
    is_evaluation,
    make_plan,
    write_plan,
)
from harness_adapters.evaluation.results import Findings, find
from harness_adapters.execution import (
    ArmPlan,
    Execution,
    Interrupted,
    RunResult,
    Stopped,
)
from harness_adapters.parts import ComponentOptions, Parts, make_parts
from harness_adapters.plugins import Plugins, canonical
from harness_adapters.types import Rollout, Sampling, Task

Progress = Callable[[ArmName, Rollout, int, int], None]
"""Called after each recorded rollout with its arm, the rollout, the number done and the number
planned, both over all arms."""


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """What an evaluation left.

    :param runs: by arm, in the order of ``plan.arms``.
    :param problems: one line per broken task, failing observer, or comparison that cannot be made.
    """

    out: Path
    plan: Plan
    runs: tuple[RunResult, ...]
    problems: tuple[str, ...]
    margin: float = MARGIN
    seed: int = 0

    def findings(self) -> Findings:
        """The comparisons that this evaluation was made for, of what is on disk by now."""
        if not is_evaluation(self.out):  # interrupted before the first arm was begun
            return Findings(plan=self.plan, arms=(), comparisons=(), matrix=None)
        return find(self.out, margin=self.margin, seed=self.seed)

    @property
    def whole(self) -> bool:
        """Every planned attempt of every arm is finished and no task is broken."""
        return all(
            run.summary["finished"] == run.summary["planned"] and not run.summary["broken"]
            for run in self.runs
        )

    def to_json(self) -> dict[str, Any]:
        """Sums over arms, and each arm's summary; ``broken`` tasks are the same for all arms."""
        sums = {
            name: sum(run.summary[name] for run in self.runs)
            for name in ("planned", "finished", "infra")
        }
        arms = [
            {**arm.model_dump(exclude={"path"}), "path": str(run.out), **run.summary}
            for arm, run in zip(self.plan.arms, self.runs, strict=True)
        ]
        return {
            "out": str(self.out),
            "design": self.plan.design.value,
            **sums,
            "broken": max(run.summary["broken"] for run in self.runs),
            "arms": arms,
        }


class EvaluationStopped(HarnessAdaptersError):
    """It ended before its plan was done; ``result`` holds what finished, which is on disk."""

    def __init__(self, message: str, result: Evaluation) -> None:
        super().__init__(message)
        self.result = result


class EvaluationInterrupted(KeyboardInterrupt):
    """Ctrl-C or SIGTERM ended it; ``result`` holds what finished, which is on disk."""

    def __init__(self, result: Evaluation) -> None:
        super().__init__("interrupted")
        self.result = result


def evaluate(
    tasks: Path | str | Sequence[Task],
    *,
    models: Sequence[str],
    out: Path | str,
    harnesses: Sequence[str] = ("pi",),
    engine: str = "scripted:by-model",
    design: Design | str = Design.MODELS,
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
    margin: float = MARGIN,
    seed: int = 0,
    resume: bool = False,
    plugins: Plugins | None = None,
    progress: Progress | None = None,
) -> Evaluation:
    """Run every selected task with every model in every harness, and compare.

    Each arm is a run folder of its own, ``out/HARNESS/MODEL``, over the same engine; their
    attempts are interleaved, so that drift hits all arms alike. Arguments that ``ha.run`` has too
    mean the same here.

    :param models: names of models or adapters on that engine; the first is the base.
    :param out: the evaluation's folder.
    :param design: ``models``, ``matrix`` (how an adapter does in other harnesses than its own) or
        ``guards`` (each arm with ``guards`` and with none at all).
    :param margin: what counts as the same pass@1, in shares.
    :param seed: for permutation tests.
    :raises BadInput: nothing was started; the message says what to do.
    :raises EvaluationStopped: the engine died or a guard kept failing.
    :raises EvaluationInterrupted: Ctrl-C or SIGTERM.
    """
    plugins = plugins or Plugins.load()
    out = Path(out)
    design = Design(design)
    if attempts < 1 or concurrency < 1 or infra_retries < 0:
        raise BadInput("attempts and concurrency start at 1, infra retries at 0")
    if not 0 < margin < 1:
        raise BadInput(f"an equivalence margin lies between 0 and 1, not {margin}")
    if design is Design.GUARDS and guards is not None and not guards:
        raise BadInput("comparing guards with none needs a guard")
    plan = make_plan(design, [canonical(name) for name in harnesses], models)
    check_folder(out, plan, resume=resume)
    chosen = choose_tasks(
        plugins,
        tasks,
        kind=kind,
        split=split,
        limit=limit,
        session_seconds=session_seconds,
        max_requests=max_requests,
        sandbox=sandbox,
    )

    def parts(arm: ArmName) -> Parts:
        off = arm.guards == "off"
        return make_parts(
            plugins,
            harness=arm.harness,
            kinds=chosen.kinds,
            guards=[] if off else guards,
            rewards=rewards,
            options=_without_guards(options) if off else options,
        )

    made = {(arm.harness, arm.guards): parts(arm) for arm in plan.arms}
    execution = Execution(
        chosen=chosen,
        arms=[
            ArmPlan(parts=made[arm.harness, arm.guards], model=arm.model, out=out / arm.path)
            for arm in plan.arms
        ],
        plugins=plugins,
        engine=engine,
        attempts=attempts,
        concurrency=concurrency,
        sandbox=sandbox,
        sampling=sampling or Sampling(),
        infra_retries=infra_retries,
        ready=lambda: write_plan(out, plan),
        resume=True,  # of each arm; an evaluation cut off early has begun only some of them
        progress=None if progress is None else lambda arm, *rest: progress(plan.arms[arm], *rest),
    )

    def result() -> Evaluation:
        runs = execution.results()
        return Evaluation(
            out=out,
            plan=plan,
            runs=tuple(runs),
            problems=runs[0].problems,
            margin=margin,
            seed=seed,
        )

    try:
        execution.run()
    except Interrupted:
        raise EvaluationInterrupted(result()) from None
    except Stopped as stop:
        raise EvaluationStopped(str(stop), result()) from None
    return result()


def _without_guards(options: ComponentOptions | None) -> ComponentOptions | None:
    return options and {kind: tables for kind, tables in options.items() if kind != "guards"}
