"""What a training process makes of its plan before anything is started."""

from __future__ import annotations

import time
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from harness_adapters.errors import BadInput, MissingPrerequisite, first_of
from harness_adapters.parts import Parts, check_tasks, make_kinds, make_parts
from harness_adapters.plugins import Plugins
from harness_adapters.tasks.mixture import Mixture
from harness_adapters.train.folder import TrainingManifest, read_training, write_training
from harness_adapters.train.names import new_run_id
from harness_adapters.train.needs import recipe_mixture
from harness_adapters.train.plan import RunPlan
from harness_adapters.train.recipe import Recipe
from harness_adapters.types import Task

PROBE = """\
You are working in a terminal. List the files, read what the task needs, write the result to a
file and say in one sentence what you did. {"name": "bash", "arguments": {"command": "ls -la"}}"""
PROBE_IDS = 64


def capped_mixture(recipe: Recipe) -> Mixture:
    """The tasks of a recipe, with its caps instead of their own; for development those that it
    evaluates on.

    :raises BadInput: there are none to train on.
    """
    mixed = recipe_mixture(recipe)
    rollouts = recipe.rollouts
    caps: dict[str, Any] = {"max_output_tokens": rollouts.max_output_tokens}
    if rollouts.session_seconds is not None:
        caps["session_seconds"] = rollouts.session_seconds
    if rollouts.max_requests is not None:
        caps["max_requests"] = rollouts.max_requests

    def capped(task: Task) -> Task:
        return replace(task, limits=replace(task.limits, **caps))

    dev = mixed.dev[: recipe.evaluation.limit] if recipe.evaluation.every else ()
    return replace(mixed, train=tuple(map(capped, mixed.train)), dev=tuple(map(capped, dev)))


def run_parts(plugins: Plugins, recipe: Recipe, mixed: Mixture) -> Parts:
    """The components of a run.

    :raises BadInput: one cannot be used, or a task is broken.
    """
    tasks = [*mixed.train, *mixed.dev]
    kinds = make_kinds(plugins, {task.kind for task in tasks})
    _, unfit = check_tasks(plugins, kinds, tasks)
    if unfit:
        raise BadInput(f"a task to train or evaluate on is broken: {first_of(unfit)}")
    return make_parts(
        plugins,
        harness=recipe.harness,
        kinds=kinds,
        guards=recipe.guards,
        rewards=recipe.rewards,
        options=recipe.options,
    )


def training_manifest(plan: RunPlan) -> TrainingManifest:
    """That of the run to go on with, or a new one, which is written at once."""
    if (plan.out / "training.json").exists():
        return read_training(plan.out).model_copy(update={"recipe": plan.recipe})
    manifest = TrainingManifest(
        run=new_run_id(),
        created=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        recipe=plan.recipe,
        adapted={},
        packages={name: _installed(name) for name in ("torch", "trl", "peft", "transformers")},
    )
    write_training(plan.out, manifest)
    return manifest


def _installed(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        raise MissingPrerequisite(
            f"training needs {name}: pip install 'harness-adapters[train]'"
        ) from None


def load_tokenizer(model: str) -> Any:
    """:raises BadInput: it cannot be had; the reason in one line."""
    from transformers import AutoTokenizer

    try:
        return AutoTokenizer.from_pretrained(model)
    except (OSError, ValueError) as error:
        line = str(error).strip().splitlines()[0]
        raise BadInput(f"cannot load the tokenizer of {model}: {line}") from None


def probe_ids(tokenizer: Any) -> list[int]:
    """The canary's text in this tokenizer's ids."""
    return [int(id) for id in tokenizer.encode(PROBE, add_special_tokens=False)[:PROBE_IDS]]
