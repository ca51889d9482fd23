"""Random draws that are the same on every Python version."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


class Dice:
    """Draws made from ``random.Random.random()`` alone, the one method whose sequence Python
    promises to keep for a given seed; ``choice``, ``sample`` and ``randint`` may change."""

    def __init__(self, *seed: object) -> None:
        self._random = random.Random("/".join(map(str, seed)))

    def between(self, low: int, high: int) -> int:
        """A whole number from ``low`` to ``high``, both included."""
        return low + int(self._random.random() * (high - low + 1))

    def chance(self, probability: float) -> bool:
        return self._random.random() < probability

    def pick(self, items: Sequence[T]) -> T:
        return items[self.between(0, len(items) - 1)]

    def shuffled(self, items: Sequence[T]) -> list[T]:
        left = list(items)
        return [left.pop(self.between(0, len(left) - 1)) for _ in range(len(left))]

    def some(self, items: Sequence[T], number: int) -> list[T]:
        """``number`` different positions of ``items``, in their own order."""
        left = list(range(len(items)))
        chosen = [left.pop(self.between(0, len(left) - 1)) for _ in range(number)]
        return [items[position] for position in sorted(chosen)]
