"""In what a recipe differs from the published one, in lines that a report prints."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from harness_adapters.train.recipe import Recipe, load_recipe, make_recipe

PUBLISHED = ("lfm2.5-24b-a2b", "lfm3-1.7b", "twil-8b")
"""Shipped recipes that were published; all other values are the same for all models."""

NOT_PUBLISHED = (
    "lora.alpha",
    "optimizer.dtype",
    "optimizer.gradient_checkpointing",
    "rollouts.min_group",
    "advantage.std_floor",
    "tasks.difficulty",
)
"""Fields whose defaults are ours: the published recipe does not state them."""

_NO_PART = frozenset(
    {"model", "harness", "seed", "tasks.path", "rollouts.infra_retries"}
    | {f"evaluation.{name}" for name in ("every", "attempts", "limit")}
    | {f"trackio.{name}" for name in ("enabled", "project", "space_id")}
)
"""What the adapter is trained for, and what does not change how."""


def published_recipe(recipe: Recipe) -> tuple[str, Recipe] | None:
    """Name and recipe that were published for this model, wherever its files lie."""
    model = Path(recipe.model).name.casefold()
    for name in PUBLISHED:
        published = load_recipe(name)
        if Path(published.model).name.casefold() == model:
            return name, published
    return None


def deviations(recipe: Recipe) -> list[str]:
    """Every difference, one line each: ``[table] key: value (published: value)``.

    The reference is what was published for the recipe's model; for any other model, what is
    published for all of them. How long to train was published by model only, so there ``steps``
    is a difference in itself.
    """
    found = published_recipe(recipe)
    known = {} if found else {"steps": "200 to 400, by model"}
    reference = (
        found[1]
        if found
        else make_recipe({"model": recipe.model, "harness": recipe.harness, "steps": recipe.steps})
    )
    theirs = dict(_flat(reference.model_dump(mode="json")))
    lines = []
    for key, value in _flat(recipe.model_dump(mode="json")):
        if key in _NO_PART:
            continue
        if key in known:
            lines.append(f"{_place(key)}: {_shown(key, value)} (published: {known[key]})")
        elif value != theirs.get(key):
            other = _shown(key, theirs[key]) if key in theirs else "not set"
            said = "by default, not published" if key in NOT_PUBLISHED else "published"
            lines.append(f"{_place(key)}: {_shown(key, value)} ({said}: {other})")
    return lines


def _flat(table: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in table.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{above}{name}.")
        else:
            yield f"{above}{name}", value


def _place(key: str) -> str:
    *tables, name = key.removeprefix("options.").split(".")
    return f"[{'.'.join(tables)}] {name}" if tables else name


def _shown(key: str, value: object) -> str:
    if value is None:
        return f"every built-in {key[:-1]}" if key in ("guards", "rewards") else "not set"
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    return str(value).lower() if isinstance(value, bool) else str(value)
