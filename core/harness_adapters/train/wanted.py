"""What ``ha train`` is asked for: which recipes into which folders, on which engine."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from harness_adapters.errors import BadInput
from harness_adapters.record.folder import read_manifest
from harness_adapters.serve.engine import EngineSpec, parse_engine
from harness_adapters.serve.model_folder import served_name
from harness_adapters.train.folder import read_training
from harness_adapters.train.recipe import Recipe, load_recipe

_log = logging.getLogger(__name__)

STARTED_HERE = ("embedded", "vllm")


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """One run that is asked for, in its folder."""

    recipe: Recipe
    out: Path


def wanted_runs(
    given: Sequence[Recipe | Path | str],
    *,
    out: Path | str | None,
    steps: int | None,
    resume: bool,
) -> list[Wanted]:
    if not given:
        raise BadInput("no recipe to train")
    runs = [
        Path(one) for one in given if not isinstance(one, Recipe) and resume and Path(one).is_dir()
    ]
    if runs and (len(runs) < len(given) or out is not None):
        raise BadInput("go on either with run folders, or with recipes and --out, not with both")
    if runs:
        known = [(read_training(run).recipe, run) for run in runs]
    else:
        if resume and out is None:
            raise BadInput("to resume, name the run folders, or the recipes and --out")
        root = Path(out) if out else Path("runs") / time.strftime("%Y%m%d-%H%M%S")
        loaded = [one if isinstance(one, Recipe) else load_recipe(one) for one in given]
        folders = [root] if len(given) == 1 else [root / name for name in _names(given, loaded)]
        known = list(zip(loaded, folders, strict=True))
    wanted = [Wanted(recipe=_anchored(recipe, steps), out=run) for recipe, run in known]
    if resume:
        for one in wanted:
            _check_same(one)
    return wanted


def _anchored(recipe: Recipe, steps: int | None) -> Recipe:
    """With absolute paths, so that a run goes on from any folder."""
    changes: dict[str, Any] = {} if steps is None else {"steps": steps}
    if recipe.tasks.path is not None:
        changes["tasks"] = {"path": recipe.tasks.path.absolute()}
    if Path(recipe.model).is_dir():
        changes["model"] = str(Path(recipe.model).absolute())
    return recipe.replace(changes)


def _names(given: Sequence[Recipe | Path | str], recipes: Sequence[Recipe]) -> list[str]:
    names = [
        f"{recipe.model_slug}.{recipe.harness}" if isinstance(one, Recipe) else Path(one).stem
        for one, recipe in zip(given, recipes, strict=True)
    ]
    return [
        name if names.count(name) == 1 else f"{name}.{number}"
        for number, name in enumerate(names, start=1)
    ]


def _check_same(one: Wanted) -> None:
    """A run goes on with its own recipe; only the number of steps may be another."""
    if not (one.out / "training.json").exists():
        return  # it was stopped before it began
    before = read_training(one.out).recipe.model_dump(mode="json", exclude={"steps"})
    now = one.recipe.model_dump(mode="json", exclude={"steps"})
    for name in before:
        if before[name] != now[name]:
            raise BadInput(f"cannot resume {one.out}: its recipe differs in {name}")


def engine_specs(
    engine: str | Sequence[str] | None, wanted: Sequence[Wanted], *, resume: bool
) -> list[EngineSpec]:
    if engine is None:
        if not resume:
            raise BadInput("name an engine: embedded, vllm, or the URL of one that runs")
        engine = str(read_manifest(wanted[0].out).engine["name"]).split(",")
    texts = [engine] if isinstance(engine, str) else list(engine)
    models = {one.recipe.model for one in wanted}
    if any(text in STARTED_HERE for text in texts) and len(models) > 1:
        raise BadInput(f"one engine serves one model, but these recipes train {len(models)}")
    (model, *_) = models
    specs = [parse_engine(f"{text}:{model}" if text in STARTED_HERE else text) for text in texts]
    if len(specs) > 1 and any(spec.kind != "url" for spec in specs):
        raise BadInput("several engines are replicas of one server: give their URLs")
    if specs[0].kind == "scripted":
        raise BadInput("a scripted engine has no adapters to train; use embedded, vllm or a URL")
    for one in wanted:
        if specs[0].kind != "url" and served_name(specs[0].value) != served_name(one.recipe.model):
            raise BadInput(f"{specs[0]} does not serve {one.recipe.model}, which is to be trained")
    return specs


def keeping_thinking(specs: Sequence[EngineSpec], wanted: Sequence[Wanted]) -> Sequence[EngineSpec]:
    """Serve the template that the recipes ask for, where the engine is ours to start."""
    keep = {one.recipe.rollouts.keep_thinking for one in wanted}
    if keep == {False}:
        return specs
    if len(keep) > 1:
        raise BadInput("keep_thinking must be the same in all recipes: one engine, one template")
    if specs[0].kind == "url":
        _log.warning("keep_thinking: the server at %s decides its own template", specs[0].value)
        return specs
    from harness_adapters.train.chat_template import keeping_folder

    model, beside = wanted[0].recipe.model, wanted[0].out.absolute().parent
    served = keeping_folder(model, beside / ".served")
    return specs if served is None else [replace(specs[0], value=str(served))]
