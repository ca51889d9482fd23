"""Shell text into trees (tree-sitter-bash), within fixed bounds of what that may cost.

Text that is no shell program is mended by the grammar. Each place costs some hundred times what a
statement does, and text that it looks through again and again (what an open quote or bracket may
still close) costs the square of its length. Both are bounded by counts, which a busy machine does
not change: characters asked for, steps taken, places mended.

Long programs are read in pieces of whole statements, so that what is broken throughout is given up
early, and what is beyond another limit is not read to its end.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
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
_LONGEST = 8192  # and at most, before it is looked at for what is broken in it
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

    def tree(self, raw: bytes) -> Node:
        """The tree of a whole text.

        :raises Unjudgeable: it is too broken, or too much.
        """
        root = self._parsed(raw, 0, len(raw))
        self._mended -= _broken(root, self._mended)
        self._check()
        return root

    def pieces(self, raw: bytes) -> Iterator[tuple[Node, list[Node]]]:
        """The program's statements, in order, each piece with the root that they lie in.

        :raises Unjudgeable: it is too broken, or too much.
        """
        start, length = 0, len(raw)
        size = _PIECE
        while True:
            end = _end_of_piece(raw, start, size)
            root = self._parsed(raw, start, end)
            nodes = root.named_children
            if root.has_error:
                mended = _broken(root, self._mended)
                if end >= length or mended > self._mended:
                    self._mended -= mended
                    self._check()
            if end >= length:
                yield root, nodes
                return
            # The last one may go on; what is broken may be so for want of the rest.
            if root.has_error or len(nodes) < 2:
                size *= 2
                continue
            yield root, nodes[:-1]
            start, size = nodes[-1].start_byte, _PIECE

    def _parsed(self, raw: bytes, start: int, end: int) -> Node:
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
            root = grammar.parse(read, progress_callback=stops).root_node
        except ValueError:
            grammar.reset()
            raise Unjudgeable("a shell program that is no shell program") from None
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
    found = _BEGINS.search(raw, start + size, start + max(size, _LONGEST))
    return found.end() if found else start + size


def _broken(root: Node, most: int) -> int:
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
