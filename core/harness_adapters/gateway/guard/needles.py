"""Many strings looked for at once."""

from __future__ import annotations

from ahocorasick_rs import AhoCorasick, MatchKind

_PIECE = 8192  # characters at a time: all that is found in them is listed


class Needles:
    """Strings of which any may stand in a text: what no rule asks more about has none of them.

    One pass for all of them (Aho-Corasick), linear in the text whatever it holds.
    """

    def __init__(self, *needles: str) -> None:
        # Leftmost, since only that kind looks for all first characters at once.
        self._find = AhoCorasick(needles, MatchKind.LeftmostFirst).find_matches_as_indexes
        self._overlap = max(map(len, needles)) - 1

    def any_in(self, text: str) -> bool:
        """Whether at least one of them stands in ``text``."""
        if not text.isascii():  # halves of surrogate pairs, which are no text, are in no needle
            text = text.encode("utf-8", "replace").decode()
        if len(text) <= _PIECE:
            return bool(self._find(text))
        return any(
            self._find(text[start : start + _PIECE + self._overlap])
            for start in range(0, len(text), _PIECE)
        )
