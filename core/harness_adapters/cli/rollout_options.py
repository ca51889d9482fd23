"""The options of every command that runs rollouts, and what they mean to its function."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeVar

import click

from harness_adapters.cli.guard_options import guard_names, guard_options, guard_tables
from harness_adapters.errors import BadInput

F = TypeVar("F", bound=Callable[..., Any])

_OPTIONS = [
    click.option("--attempts", type=click.IntRange(1), default=1, show_default=True, metavar="N"),
    click.option("--resume", is_flag=True, help="Go on with what --out holds."),
    click.option(
        "--concurrency", type=click.IntRange(1), default=4, show_default=True, metavar="N"
    ),
    click.option("--limit", type=click.IntRange(1), metavar="N", help="Only the first N tasks."),
    click.option("--kind", help="Only tasks of this kind."),
    click.option("--split", help="Only tasks of this split: train, dev or test."),
    click.option("--sandbox", help="bubblewrap, docker or process; by default bubblewrap."),
    guard_options,
    click.option(
        "--session-timeout",
        type=click.FloatRange(0, min_open=True),
        metavar="SECONDS",
        help="Instead of the task's own.",
    ),
    click.option(
        "--max-requests", type=click.IntRange(1), metavar="N", help="Model requests each."
    ),
    click.option("--runner", type=click.Choice(["local"]), default="local", show_default=True),
]


def rollout_options(function: F) -> F:
    """Adds the options; the command takes them as ``**given`` and hands them to ``arguments``."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def arguments(given: dict[str, Any]) -> dict[str, Any]:
    """The options as arguments of ``ha.run`` and ``ha.evaluate``.

    :raises BadInput: the guard configuration cannot be read.
    """
    seconds = given["session_timeout"]
    if seconds is not None and not math.isfinite(seconds):
        raise BadInput("--session-timeout must be a finite number of seconds")
    renamed = {"runner", "guards", "guard_config", "session_timeout"}
    return {
        **{name: value for name, value in given.items() if name not in renamed},
        "guards": guard_names(given["guards"]),
        "options": {"guards": guard_tables(given["guard_config"]) or {}},
        "session_seconds": seconds,
    }


def names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]
