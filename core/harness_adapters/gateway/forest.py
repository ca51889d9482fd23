"""Turns linked by exact token prefix, and the training rows that the links make.

A prompt that starts with the whole prompt + sample of an earlier turn continues that turn; then
only the ids that it adds are stored. All else is a new root: title generators, sub-agents,
compaction, harnesses that render their history anew, and every prompt that holds a notice.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterator, Sequence
from itertools import groupby

from harness_adapters.gateway.transcript import Row, Turn

WIDTH = array("i").itemsize


class Forest:
    """Finds the parent of each new prompt. Holds the turns' own arrays, no copies.

    Placing costs one ``memcmp`` over the prompt, plus one failed comparison for each sibling on
    the way.
    """

    def __init__(self) -> None:
        self._children: dict[int | None, list[int]] = {None: []}
        self._spans: dict[int, tuple[array[int], array[int]]] = {}

    def place(self, prompt: array[int]) -> tuple[int | None, array[int]]:
        """The turn that a prompt continues, and the ids that it adds.

        The deepest match wins, and of equally deep ones the latest.
        """
        raw = prompt.tobytes()
        best: tuple[int, int] = (0, -1)
        open_ends: list[tuple[int, int | None]] = [(0, None)]
        while open_ends:
            start, node = open_ends.pop()
            for child in self._children[node]:
                new, sampled = self._spans[child]
                end = start + WIDTH * len(new)
                if raw.startswith(new, start) and raw.startswith(sampled, end):
                    end += WIDTH * len(sampled)
                    best = max(best, (end, child))
                    open_ends.append((end, child))
        end, parent = best
        if parent < 0:
            return None, prompt
        return parent, prompt[end // WIDTH :]

    def add(self, turn: int, parent: int | None, new: array[int], sampled: array[int]) -> None:
        """Let later prompts continue this turn."""
        self._children[parent].append(turn)
        self._children[turn] = []
        self._spans[turn] = (new, sampled)


def rows(turns: Sequence[Turn]) -> list[Row]:
    """Training rows: one per root-to-leaf path of the turns that hold ids.

    Each sampled id has loss in exactly one row: a prefix that paths share, in the first of them.
    Left out are auxiliary turns, and replies that the harness never got and had sampled again.
    """
    kept, inner, lost = _kept(turns)
    trained: set[int] = set()
    return [
        _row(turns, turn, trained)
        for turn in kept
        if turn.index not in inner and turn.index not in lost
    ]


def trained(turns: Sequence[Turn]) -> list[int]:
    """Indices of the turns whose samples have loss in a row."""
    kept, _, lost = _kept(turns)
    return [turn.index for turn in kept if turn.index not in lost]


def _kept(turns: Sequence[Turn]) -> tuple[list[Turn], set[int | None], set[int]]:
    """Turns to train on, the parents among them, and undelivered leaves that do not count."""
    kept = [turn for turn in turns if turn.sampled_ids and not turn.auxiliary]
    inner = {turn.parent for turn in kept}
    return kept, inner, set(_lost(kept, inner))


def _lost(kept: Sequence[Turn], inner: set[int | None]) -> Iterator[int]:
    """Undelivered leaves whose very prompt was sent again later."""
    by_parent = sorted(kept, key=lambda turn: -1 if turn.parent is None else turn.parent)
    for _, siblings in groupby(by_parent, key=lambda turn: turn.parent):
        family = list(siblings)
        for number, turn in enumerate(family):
            if turn.delivered or turn.index in inner:
                continue
            if any(turn.new_prompt_ids == later.new_prompt_ids for later in family[number + 1 :]):
                yield turn.index


def _row(turns: Sequence[Turn], leaf: Turn, trained: set[int]) -> Row:
    path = [leaf]
    while (parent := path[-1].parent) is not None:
        path.append(turns[parent])
    ids, loss, logprobs = array("i"), bytearray(), array("f")
    blank = array("f", [math.nan])
    for turn in reversed(path):
        new, sampled = len(turn.new_prompt_ids), len(turn.sampled_ids)
        ids.extend(turn.new_prompt_ids)
        ids.extend(turn.sampled_ids)
        logprobs.extend(blank * new)
        loss.extend(bytes(new))
        if turn.index in trained or turn.auxiliary:
            logprobs.extend(blank * sampled)
            loss.extend(bytes(sampled))
        else:
            logprobs.extend(turn.logprobs)
            loss.extend(b"\x01" * sampled)
            trained.add(turn.index)
    return Row(ids=ids, loss=bytes(loss), logprobs=logprobs, model=leaf.model)
