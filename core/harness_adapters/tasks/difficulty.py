"""A task's measured difficulty, as its bundle writes it."""

from __future__ import annotations

import re

_RATIO = re.compile(r"(\d{1,6})/(\d{1,6})")
_DECIMAL = re.compile(r"(?:0|1)(?:\.\d{1,9})?|\.\d{1,9}")


def solve_rate(difficulty: str) -> float | None:
    """The share of rollouts that solved it, 0 to 1, from ``"3/8"`` or ``"0.375"``; ``None`` for
    words such as ``easy`` and for anything else: not measured."""
    text = difficulty.strip()
    if ratio := _RATIO.fullmatch(text):
        solved, tried = int(ratio[1]), int(ratio[2])
        return solved / tried if 0 < tried >= solved else None
    if _DECIMAL.fullmatch(text):
        rate = float(text)
        return rate if rate <= 1 else None
    return None
