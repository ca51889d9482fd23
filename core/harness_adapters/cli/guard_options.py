"""Which guards a command uses: ``--guards`` and ``--guard-config``, read in one place."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from harness_adapters.errors import BadInput

if TYPE_CHECKING:
    from harness_adapters.gateway.guard.judge import Guard
    from harness_adapters.plugins import Plugins

F = TypeVar("F", bound=Callable[..., Any])

_MAX_BYTES = 1024 * 1024


def guard_options(command: F) -> F:
    """Adds ``guards: str | None`` and ``guard_config: Path | None``."""
    names = click.option(
        "--guards", metavar="A,B", help="Guards by name, or 'none'; by default all built-in."
    )
    config = click.option(
        "--guard-config",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="TOML file with [guards.NAME] tables.",
    )
    return names(config(command))


def guard_names(text: str | None) -> list[str] | None:
    """``None`` for every built-in guard, an empty list for none at all.

    :raises BadInput: it names no guard; an empty variable in a script must not switch them off.
    """
    if text is None:
        return None
    if text == "none":
        return []
    names = [name.strip() for name in text.split(",") if name.strip()]
    if not names:
        raise BadInput("--guards names no guard; to run without any, say --guards none")
    return names


def guard_tables(path: Path | None) -> dict[str, dict[str, Any]] | None:
    """Options by guard name.

    :raises BadInput: the file cannot be read, or holds something else.
    """
    if path is None:
        return None
    import tomllib

    try:
        with path.open("rb") as file:
            text = file.read(_MAX_BYTES + 1)
        if len(text) > _MAX_BYTES:
            raise BadInput(f"{path} is larger than {_MAX_BYTES} bytes")
        content = tomllib.loads(text.decode())
    except OSError as error:
        raise BadInput(f"cannot read {path}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadInput(f"{path}: {error or 'nested too deep'}") from error
    guards = content.pop("guards", {})
    tables = isinstance(guards, dict) and all(isinstance(t, dict) for t in guards.values())
    if content or not tables:
        raise BadInput(f"{path}: only [guards.NAME] tables belong here")
    return dict(guards)


def make_guard(plugins: Plugins, guards: str | None, guard_config: Path | None) -> Guard:
    """The guard that the two options ask for.

    :raises BadInput: one of them cannot be used; there are never fewer guards than asked for.
    """
    from harness_adapters import parts

    return parts.make_guard(plugins, guard_names(guards), guard_tables(guard_config))
