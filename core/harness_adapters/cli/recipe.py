"""``ha recipe``: what a training run would do, before it does."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from harness_adapters.cli.output import json_option, print_json

if TYPE_CHECKING:
    from harness_adapters.train.needs import Needs


@click.group("recipe")
def command() -> None:
    """Look at training recipes: the shipped ones, and your own."""


@command.command(
    "check",
    epilog="""\b
Examples:
  ha recipe check my-recipe.toml
  ha recipe check lfm3-1.7b
  ha recipe check my-recipe.toml --json | jq '.missing'""",
)
@click.argument("recipe", metavar="FILE|NAME")
@json_option
def check(recipe: str, as_json: bool) -> int:
    """Say what a recipe would run, what that needs, and what is missing here.

    FILE is a recipe file, NAME a shipped one. Downloads nothing and starts nothing. Exit code 1
    when something is missing, 2 when it is no recipe.
    """
    from harness_adapters.plugins import Plugins
    from harness_adapters.train.needs import examine
    from harness_adapters.train.recipe import load_recipe

    found = examine(load_recipe(recipe), Plugins.load())
    if as_json:
        print_json(_as_json(recipe, found))
    else:
        _print(found)
    return int(bool(found.missing))


@command.command("list", epilog="Example: ha recipe list --json")
@json_option
def list_(as_json: bool) -> int:
    """List the shipped recipes."""
    from rich.console import Console
    from rich.table import Table

    from harness_adapters.train.recipe import load_recipe
    from harness_adapters.train.recipe_file import shipped_recipes

    recipes = {name: load_recipe(name) for name in shipped_recipes()}
    if as_json:
        print_json({name: recipe.model_dump(mode="json") for name, recipe in recipes.items()})
        return 0
    table = Table(box=None)
    for title in ("recipe", "model", "steps", "sessions", "tokens per micro-batch"):
        table.add_column(title, no_wrap=True)
    for name, recipe in recipes.items():
        sessions, budget = recipe.rollouts.in_flight, recipe.optimizer.token_budget
        table.add_row(name, recipe.model, f"{recipe.steps}", f"{sessions}", f"{budget:,}")
    Console(highlight=False, soft_wrap=True).print(table)
    return 0


@command.command("show", epilog="Example: ha recipe show lfm3-1.7b > my-recipe.toml")
@click.argument("recipe", metavar="FILE|NAME")
@json_option
def show(recipe: str, as_json: bool) -> int:
    """Print a recipe with all its defaults, as a file to start from."""
    from harness_adapters.train.recipe import load_recipe
    from harness_adapters.train.recipe_file import write_toml

    loaded = load_recipe(recipe)
    if as_json:
        print_json(loaded.model_dump(mode="json"))
    else:
        click.echo(write_toml(loaded.model_dump(mode="json")), nl=False)
    return 0


def _as_json(name: str, found: Needs) -> dict[str, Any]:
    from harness_adapters.cli.lines import rows

    mixed = found.mixture
    parts = {"train": mixed.train, "dev": mixed.dev, "held_out": mixed.held_out} if mixed else {}
    return {
        "ok": not found.missing,
        "recipe": name,
        "missing": found.missing,
        "deviations": found.deviations,
        "checks": rows(found.lines),
        "tasks": {part: len(tasks) for part, tasks in parts.items()} or None,
        "parameters": found.size.parameters if found.size else None,
        "memory": asdict(found.memory) if found.memory else None,
        "gpus": [asdict(gpu) for gpu in found.gpus],
    }


def _print(found: Needs) -> None:
    from rich.console import Console

    from harness_adapters.cli.lines import print_lines

    print_lines(found.lines)
    console = Console(highlight=False, soft_wrap=True, markup=False)
    if found.deviations:
        console.print("differs from the published recipe:")
        for line in found.deviations:
            console.print(f"  {line}")
    else:
        console.print("as published")
