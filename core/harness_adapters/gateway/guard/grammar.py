"""Shell text into trees (tree-sitter-bash), within fixed bounds of what that may cost.

Text that is no shell program is mended by the grammar. Each place costs some hundred times what a
statement does, and text that it looks through again and again (what an open quote or bracket may
still close) costs the square of its length. Both are bounded by counts, which a busy machine does
not change: characters asked for, steps taken, places mended.

What is mended is only told when all is read, so the beginning of a long program is read by itself.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from harness_adapters.gateway.guard.errors import (
    MAX_GRAMMAR_READS,
    MAX_GRAMMAR_STEPS,
    MAX_MENDED,
    MAX_MENDING,
    Unjudgeable,
)

if TYPE_CHECKING:
    from tree_sitter import Node, Parser, Range

_CHUNK = 256  # characters that the grammar gets at a time
_SHORT = 2048  # characters in which it may be lost for a while
_PIECE = 1024  # characters of a piece, up to where the next statement seems to begin
_PROBED = 4096  # characters that are read in pieces first
# Where honest programs begin a statement that lies in no other.
_BEGINS = re.compile(rb"\n(?=[A-Za-z_#/.\"'$\[:])(?!(?:done|fi|esac|then|do|else|elif|in)\b)")


@cache
def parser() -> Parser:
    import tree_sitter_bash
    from tree_sitter import Language, Parser

    return Parser(Language(tree_sitter_bash.language()))


class Effort:
    """What the grammar may still do for one call."""

    def __init__(self) -> None:
        self._reads = MAX_GRAMMAR_READS
        self._steps = MAX_GRAMMAR_STEPS // 100  # it tells of every hundredth
        self._mended = MAX_MENDED

    def tree(self, raw: bytes, *, probe: bool = True) -> Node:
        """The tree of a text of ASCII.

        :param probe: whether pieces of it can be read by themselves.

        :raises Unjudgeable: it is too broken, or too much.
        """
        if probe and len(raw) > _PIECE:
            self._probe(raw)
        root = self._parsed(raw, 0, len(raw))
        if root is None:
            raise Unjudgeable("a shell program that is no shell program")
        if root.has_error:
            self._mended -= _mended(root, self._mended)
            self._check()
        return root

    def _probe(self, raw: bytes) -> None:
        """Read the beginning in pieces, or what is broken throughout is told only at its end. Trees
        of pieces are not used: of two ways to read it, the grammar may choose another there.

        :raises Unjudgeable: it is too broken.
        """
        start, size = 0, _PIECE
        while start < _PROBED and size <= _PROBED:
            end = _end_of_piece(raw, start, size)
            if end >= len(raw):
                return
            root = self._parsed(raw, start, end)
            if root is not None and root.has_error and _mended(root, MAX_MENDED) > MAX_MENDED:
                raise Unjudgeable("a shell program that is no shell program")
            # What is broken may be so for want of the rest, and the last statement may go on.
            if root is None or root.has_error or root.named_child_count < 2:
                size *= 2
            else:
                start, size = root.named_children[-1].start_byte, _PIECE

    def _parsed(self, raw: bytes, start: int, end: int) -> Node | None:
        """A part of the text, or ``None`` where the grammar is lost in it."""
        left = MAX_MENDING

        def read(at: int, _: object) -> bytes:
            self._reads -= 1
            return raw[at : at + _CHUNK] if self._reads > 0 else b""

        def stops(at: int, has_error: bool) -> bool:
            nonlocal left
            self._steps -= 1
            if has_error and end - start > _SHORT:
                left -= end - start
            return left <= 0 or self._steps <= 0 or self._reads <= 0

        grammar = parser()
        whole = start == 0 and end == len(raw)
        grammar.included_ranges = [] if whole else [_range(start, end)]
        try:
            root: Node | None = grammar.parse(read, progress_callback=stops).root_node
        except ValueError:
            grammar.reset()
            root = None
        self._check()
        return root

    def _check(self) -> None:
        if self._reads <= 0 or self._steps <= 0 or self._mended < 0:
            raise Unjudgeable("shell programs that are too hard to read, or no shell programs")


def _range(start: int, end: int) -> Range:
    from tree_sitter import Point, Range

    return Range(Point(0, start), Point(0, end), start, end)


def _end_of_piece(raw: bytes, start: int, size: int) -> int:
    """After ``size`` characters, or rather where the next statement seems to begin."""
    if len(raw) - start <= size:
        return len(raw)
    found = _BEGINS.search(raw, start + size, start + 2 * size)
    return found.end() if found else start + size


def _mended(root: Node, most: int) -> int:
    """How many places were mended; a few more than ``most`` are as good as all."""
    found = 0
    stack = [root]
    while stack and found <= most:
        node = stack.pop()
        if node.is_missing or node.is_error:
            found += 1
        if node.has_error:
            stack += node.children
    return found
