"""The active branch of a log that is a tree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """:param parent: ``None`` for a root."""

    id: str
    parent: str | None


def active_branch(nodes: Sequence[Node]) -> list[int]:
    """Positions of the nodes from a root to the last node, in that order.

    A parent that is not there (a damaged line) is taken to be the node written just before. Of
    two nodes with one id the later counts; a cycle ends the walk.
    """
    places = {node.id: place for place, node in enumerate(nodes)}
    path: list[int] = []
    seen: set[int] = set()
    place: int | None = len(nodes) - 1 if nodes else None
    while place is not None and place not in seen:
        seen.add(place)
        path.append(place)
        parent = nodes[place].parent
        if parent is None:
            break
        place = places.get(parent, place - 1 if place else None)
    path.reverse()
    return path
