"""What is sent into a program."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Pipe:
    """A program's standard input.

    :ivar text: what it will hold, where the call tells; else ``None``.
    :ivar source: the program text that makes it.
    """

    text: str | None
    source: str = ""
