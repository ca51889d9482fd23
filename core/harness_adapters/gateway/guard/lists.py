"""What a shell keeps as lists: arrays, and its arguments (``$1``, ``$@``).

A variable is one string; in a list the elements stand behind each other, each with a private
character behind it. An element of another index than its place begins with it, ``[key]=value``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

#: Stands behind each element of a list.
ELEMENT = "\ue006"
_PLACE = re.compile(r"-?[0-9]{1,6}\Z")
_KEYED = re.compile(r"\[([^\]]*)\]=")


def joined(elements: Sequence[str]) -> str:
    """A list as a variable keeps it."""
    return "".join([one + ELEMENT for one in elements])


def elements(value: str | None) -> list[str]:
    """The elements of a variable, which is one of itself where it is no list."""
    return value.removesuffix(ELEMENT).split(ELEMENT) if value else []


def values(value: str | None) -> list[str]:
    """``elements`` without the indices that stand before some of them."""
    found = elements(value)
    return [_KEYED.sub("", one, count=1) for one in found] if value and "]=" in value else found


def indices(value: str | None) -> list[str]:
    """``${!A[@]}``."""
    keyed = [_KEYED.match(one) for one in elements(value)]
    return [one[1] if one else str(place) for place, one in enumerate(keyed)]


def element(value: str, index: str) -> str | None:
    """``${A[index]}``, or ``None`` where the text does not tell which that is."""
    found = elements(value)
    for one in found:
        if one.startswith(f"[{index}]="):
            return one[len(index) + 3 :]
    if _PLACE.match(index):
        place = int(index)
        return found[place] if -len(found) <= place < len(found) else ""
    return None


def positional(given: str, place: int) -> str:
    """``$1`` and those that follow, without a look at all of them."""
    found = given.split(ELEMENT, place)
    return found[place - 1] if 0 < place < len(found) else ""


def with_element(value: str, index: str, new: str) -> str:
    """The list after ``A[index]=new``."""
    found = [one for one in elements(value) if not one.startswith(f"[{index}]=")]
    place = int(index) if _PLACE.match(index) else -1
    if 0 <= place < len(found) and not _KEYED.match(found[place]):
        found[place] = new
    else:
        found.append(new if place == len(found) else f"[{index}]={new}")
    return joined(found)
