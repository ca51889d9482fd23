"""The dotted parts of a pre-release."""

import re

_PART = re.compile(r"[0-9A-Za-z-]+")


def split(text):
    """The parts of a pre-release text.

    :raises ValueError: a part is empty, has other characters, or is a number with a leading zero.
    """
    parts = text.split(".")
    for part in parts:
        if not _PART.fullmatch(part) or (part.isdigit() and len(part) > 1 and part[0] == "0"):
            raise ValueError(f"not a pre-release: {text!r}")
    return tuple(parts)


def order(parts):
    """A key that sorts pre-releases; no parts at all mean a release, which comes last."""
    if not parts:
        return (1,)
    return (0, *(_part_order(part) for part in parts))


def _part_order(part):
    return (0, int(part)) if part.isdigit() else (1, part)
