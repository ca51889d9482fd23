"""Shell text into trees (tree-sitter-bash), within fixed bounds of what that may cost.

Text that is no shell program is mended by the grammar. Each place costs some hundred times what a
statement does, and text that it looks through again and again (what an open quote or bracket may
still close) costs the square of its length. Both are bounded by counts, which a busy machine does
not change: characters asked for, steps taken, places mended.

What is mended is only told when all is read, so the beginning of a long program is read by itself
first, then four times as much of it, and so on: a third more work than reading it once.
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
    from tree_sitter import Node, Parser

_CHUNK = 256  # characters that the grammar gets at a time
_SHORT = 2048  # characters in which it may be lost for a while
_BEGINNING = 4096  # characters that are read by themselves first
_MORE = 4  # times as many are read next
_LOST_AT_END = 20  # times that the grammar may be seen to be lost where a beginning ends
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

        :param probe: whether its beginning can be read by itself.
        :raises Unjudgeable: it is too broken, or too much.
        """
        if probe:
            self._probe(raw)
        root = self._parsed(raw)
        if root is None:
            raise Unjudgeable("a shell program that is no shell program")
        if root.has_error:
            self._mended -= _mended(root, self._mended)
            self._check()
        return root

    def _probe(self, raw: bytes) -> None:
        """Read the beginning by itself, or what is broken throughout is told only at its end. Its
        tree is not used: where it ends amid a statement, the grammar is lost, and mends it.

        :raises Unjudgeable: it is too broken.
        """
        size = _BEGINNING
        while 2 * size < len(raw):
            end = _end_of_beginning(raw, size)
            root = self._parsed(raw[:end], patience=_LOST_AT_END * end)
            if root is None or (root.has_error and _mended(root, MAX_MENDED) > MAX_MENDED):
                raise Unjudgeable("a shell program that is no shell program")
            size *= _MORE

    def _parsed(self, raw: bytes, *, patience: int = MAX_MENDING) -> Node | None:
        """The tree, or ``None`` where the grammar is lost in it for longer than its patience."""
        left = patience

        def read(at: int, _: object) -> bytes:
            self._reads -= 1
            return raw[at : at + _CHUNK] if self._reads > 0 else b""

        def stops(at: int, has_error: bool) -> bool:
            nonlocal left
            self._steps -= 1
            if has_error and len(raw) > _SHORT:
                left -= len(raw)
            return left <= 0 or self._steps <= 0 or self._reads <= 0

        grammar = parser()
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


def _end_of_beginning(raw: bytes, size: int) -> int:
    """After ``size`` characters, or rather where the next statement seems to begin."""
    found = _BEGINS.search(raw, size, 2 * size)
    return found.end() if found else size


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
