"""Findings of a check on a terminal: ``ok``, ``warn`` or ``fail``, each with what to do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from harness_adapters.doctor.line import Line

STYLES = {"ok": "green", "warn": "yellow", "fail": "bold red"}


def print_lines(found: Mapping[str, Sequence[Line]]) -> None:
    """One line per finding, and one more for its fix."""
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False, soft_wrap=True)
    width = max(map(len, found), default=0) + 2
    for name, lines in found.items():
        for line in lines:
            status = Text(f"{line.status:<5}", style=STYLES[line.status])
            console.print(
                status.append(f"{name:<{width}}", style="dim").append(line.text, style="")
            )
            if line.fix:
                console.print(Text(f"{'':<{width + 5}} fix: {line.fix}", style="dim"))


def rows(found: Mapping[str, Sequence[Line]]) -> list[dict[str, str]]:
    """For ``--json``."""
    return [
        {"check": name, "status": line.status.value, "text": line.text, "fix": line.fix}
        for name, lines in found.items()
        for line in lines
    ]
