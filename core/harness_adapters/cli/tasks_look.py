"""``ha tasks stats``, ``show`` and ``split``: look at a set of tasks; nothing is run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness_adapters.cli.output import json_option, print_json, printable, stderr
from harness_adapters.errors import BadInput, did_you_mean, first_of

if TYPE_CHECKING:
    from harness_adapters.types import Task

_LONGEST = 4000  # characters of an instruction that a person is shown
_SPLITS = ("train", "dev", "test")


@click.command(
    "stats",
    epilog="""\b
Examples:
  ha tasks stats examples/tasks
  ha tasks stats examples/tasks --json | jq '.kinds'""",
)
@click.argument("tasks", type=click.Path(path_type=Path))
@json_option
def stats(tasks: Path, as_json: bool) -> int:
    """Count the tasks in TASKS by kind, split, difficulty and cluster."""
    from rich.console import Console
    from rich.table import Table

    from harness_adapters.tasks.bundle import load_tasks

    loaded, broken = load_tasks(tasks)
    if not loaded:
        raise BadInput(f"no readable task: {first_of(broken)}")
    for problem in broken:
        stderr().print(printable(f"ha: {problem}"), markup=False, soft_wrap=True)
    if as_json:
        print_json(
            {
                "tasks": len(loaded),
                "broken": len(broken),
                "clusters": len({task.metadata.cluster for task in loaded}),
                "self_graded": sum(task.self_graded for task in loaded),
                "kinds": _by(loaded, lambda task: task.kind),
                "splits": _by(loaded, lambda task: task.metadata.split),
                "difficulties": _by(loaded, lambda task: task.metadata.difficulty or "unknown"),
            }
        )
        return int(bool(broken))
    table = Table(box=None)
    table.add_column("kind")
    for name in ("tasks", "share", "clusters", *_SPLITS):
        table.add_column(name, justify="right")
    for kind, count in _by(loaded, lambda task: task.kind).items():
        of_kind = [task for task in loaded if task.kind == kind]
        splits = Counter(task.metadata.split for task in of_kind)
        table.add_row(
            printable(kind),
            str(count),
            f"{count / len(loaded):.0%}",
            str(len({task.metadata.cluster for task in of_kind})),
            *(str(splits[name]) for name in _SPLITS),
        )
    Console(highlight=False).print(table, markup=False)
    return int(bool(broken))


@click.command(
    "show",
    epilog="""\b
Examples:
  ha tasks show examples/tasks repair-ledger
  ha tasks show examples/tasks/repair-ledger --json""",
)
@click.argument("tasks", type=click.Path(path_type=Path))
@click.argument("task", required=False)
@json_option
def show(tasks: Path, task: str | None, as_json: bool) -> None:
    """Show one TASK of the folder TASKS: what its agent is told, sees, and may edit."""
    from rich.console import Console

    from harness_adapters.parts import check_tasks, make_kinds
    from harness_adapters.plugins import Plugins
    from harness_adapters.tasks.workspace import original_files

    chosen = _find(tasks, task)
    plugins = Plugins.load()
    kinds = make_kinds(plugins, {chosen.kind})
    good, broken = check_tasks(plugins, kinds, [chosen])
    if not good:
        raise BadInput(str(broken[0]))
    policy = kinds[chosen.kind].policy(chosen)
    files = {place: len(entry.content) for place, entry in original_files(chosen).items()}
    about = {
        "id": chosen.id,
        "kind": chosen.kind,
        "cluster": chosen.metadata.cluster,
        "split": chosen.metadata.split,
        "difficulty": chosen.metadata.difficulty,
        "provenance": chosen.metadata.provenance,
        "self_graded": chosen.self_graded,
        "workdir": chosen.workdir,
        "image": chosen.image,
        "needs_image": chosen.needs_image,
        "session_seconds": chosen.limits.session_seconds,
        "verifier_seconds": chosen.limits.verifier_seconds,
        "editable": list(policy.editable),
        "protected": list(policy.protected),
        "allowed_hosts": list(policy.allowed_hosts),
        "sha256": chosen.sha256,
    }
    if as_json:
        print_json({**about, "instruction": chosen.instruction, "files": files})
        return
    console = Console(highlight=False)
    for name, value in about.items():
        text = ", ".join(value) if isinstance(value, list) else str(value)
        if text:
            console.print(printable(f"{name:17} {text}"), markup=False, soft_wrap=True)
    console.print()
    console.print(printable(chosen.instruction[:_LONGEST]), markup=False, soft_wrap=True)
    for place, size in files.items():
        console.print(printable(f"{size:>9} {place}"), markup=False, soft_wrap=True)


@click.command(
    "split",
    epilog="""\b
Examples:
  ha tasks split my-tasks
  ha tasks split my-tasks --held-out repository=10,data=20 --json | jq '.held_out'""",
)
@click.argument("tasks", type=click.Path(path_type=Path))
@click.option(
    "--held-out",
    default="repository=40,data=150",
    show_default=True,
    help="How many tasks about a source tree, and questions about data, are held out.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Same seed, same split.")
@json_option
def split(tasks: Path, held_out: str, seed: int, as_json: bool) -> int:
    """Split the tasks in TASKS by whole clusters: train, dev, and those held out."""
    from harness_adapters.tasks.bundle import load_tasks
    from harness_adapters.tasks.split import HeldOut, hold_out

    wanted = HeldOut(**_numbers(held_out))
    loaded, broken = load_tasks(tasks)
    console = stderr()
    for problem in broken:
        console.print(printable(f"ha: {problem}"), markup=False, soft_wrap=True)
    parts = hold_out(loaded, wanted, seed=seed)
    named = {"train": parts.train, "dev": parts.dev, "held_out": parts.held_out}
    if as_json:
        print_json({name: [task.id for task in part] for name, part in named.items()})
        return int(bool(broken))
    for name, part in named.items():
        kinds = ", ".join(f"{n} {kind}" for kind, n in _by(part, lambda t: t.kind).items())
        clusters = len({task.metadata.cluster for task in part})
        click.echo(printable(f"{name:9} {len(part):6} tasks, {clusters} clusters: {kinds}"))
    return int(bool(broken))


def _find(folder: Path, name: str | None) -> Task:
    from harness_adapters.tasks.bundle import load_task, load_tasks

    if name is None and (folder / "task.toml").is_file():
        return load_task(folder)
    loaded, _ = load_tasks(folder)
    ids = [task.id for task in loaded]
    if name is None and len(loaded) == 1:
        return loaded[0]
    if name is None:
        raise BadInput(f"{folder} holds {len(ids)} tasks; name one")
    for task in loaded:
        if task.id == name:
            return task
    if (folder / name / "task.toml").is_file():
        return load_task(folder / name, folder)  # says what is wrong with it
    raise BadInput(f"{folder}: no task {name!r}{did_you_mean(name, ids)}")


def _by(tasks: Sequence[Task], key: Any) -> dict[str, int]:
    return dict(sorted(Counter(key(task) for task in tasks).items()))


def _numbers(text: str) -> dict[str, int]:
    """``name=number,...`` of ``HeldOut``."""
    found: dict[str, int] = {}
    for part in text.split(","):
        name, _, number = part.strip().partition("=")
        if name not in ("repository", "data") or not number.isdigit():
            raise BadInput(f"--held-out: {part.strip()!r} is none of repository=N and data=N")
        found[name] = int(number)
    return found
