"""Setting tasks aside in whole clusters, the same ones on every machine.

Tasks of one cluster share their source, so a held-out task tells nothing when its siblings are
trained on. Everything here depends on ids, clusters and a seed, never on the order of a listing.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from harness_adapters.errors import BadInput
from harness_adapters.types import Task

DATA_KINDS = frozenset({"qa"})


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldOut:
    """How many tasks are held out: about a source tree, and questions about data."""

    repository: int = 40
    data: int = 150


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """A split set; each part in id order."""

    train: tuple[Task, ...]
    dev: tuple[Task, ...]
    held_out: tuple[Task, ...]


def hold_out(tasks: Sequence[Task], wanted: HeldOut, *, seed: int = 0) -> Parts:
    """Split a set: what its bundles say, and more clusters held out until there are enough.

    A part of the set that has no task at all, such as data questions, needs none held out.

    :raises BadInput: a cluster is in several splits, a task is there twice, or there are too few
        tasks to hold out so many and keep one.
    """
    clusters = _clusters(tasks)
    train = [members for members in clusters.values() if members[0].metadata.split == "train"]
    held = [members for members in clusters.values() if members[0].metadata.split == "test"]
    for name, number, data in (
        ("repository", wanted.repository, False),
        ("data", wanted.data, True),
    ):
        there = sum(_count(members, data=data) for members in held)
        pool = [members for members in train if _count(members, data=data)]
        total = there + sum(_count(members, data=data) for members in pool)
        if not total or there >= number:
            continue
        if total <= number:
            raise BadInput(
                f"held out are to be {number} {name} tasks, but there are only {total}; "
                f"ask for fewer (held_out: {name}), so that some are left to train on"
            )
        drawn = _draw(pool, number - there, seed=seed, data=data)
        held += drawn
        taken = {id(members) for members in drawn}
        train = [members for members in train if id(members) not in taken]
    dev = [members for members in clusters.values() if members[0].metadata.split == "dev"]
    return Parts(train=_in_order(train), dev=_in_order(dev), held_out=_in_order(held))


def dealt(tasks: Sequence[Task], *, seed: int = 0) -> list[Task]:
    """The tasks in an order whose every beginning is spread over the clusters as evenly as can
    be: one of each cluster, then a second of each."""
    clusters: defaultdict[str, list[Task]] = defaultdict(list)
    for task in shuffled(tasks, f"deal/{seed}"):
        clusters[task.metadata.cluster].append(task)
    rounds = zip_longest(*(clusters[name] for name in sorted(clusters, key=_key(f"deal/{seed}"))))
    return [task for one in rounds for task in one if task is not None]


def shuffled(tasks: Iterable[Task], salt: str) -> list[Task]:
    """The tasks in an order that depends on nothing but their ids and the salt. A task that is
    added or taken away does not change the order of the others."""
    key = _key(salt)
    return sorted(tasks, key=lambda task: key(task.id))


class _key:
    """Sort key: a hash of salt and name."""

    def __init__(self, salt: str) -> None:
        self._start = hashlib.blake2b(f"{salt}\0".encode(), digest_size=16)

    def __call__(self, name: str) -> bytes:
        digest = self._start.copy()
        digest.update(name.encode("utf-8", "surrogateescape"))
        return digest.digest()


def _clusters(tasks: Sequence[Task]) -> dict[str, list[Task]]:
    clusters: dict[str, list[Task]] = {}
    seen: set[str] = set()
    for task in tasks:
        if task.id in seen:
            raise BadInput(f"the task {task.id!r} is in the set twice")
        seen.add(task.id)
        first = clusters.setdefault(task.metadata.cluster, [])
        first.append(task)
        if task.metadata.split != first[0].metadata.split:
            raise BadInput(
                f"cluster {task.metadata.cluster!r} is in two splits: {first[0].id!r} is "
                f"{first[0].metadata.split}, {task.id!r} is {task.metadata.split}; "
                "tasks that share a source belong in one"
            )
    return clusters


def _draw(pool: Sequence[list[Task]], number: int, *, seed: int, data: bool) -> list[list[Task]]:
    """Whole clusters with ``number`` such tasks, or as few more as possible.

    In an order drawn by the seed, each cluster is taken that still fits; when that is not enough,
    the smallest one of the others closes the gap.
    """
    key = _key(f"hold-out/{seed}")
    drawn: list[list[Task]] = []
    others: list[list[Task]] = []
    missing = number
    for members in sorted(pool, key=lambda members: key(members[0].metadata.cluster)):
        size = _count(members, data=data)
        if size <= missing:
            drawn.append(members)
            missing -= size
        else:
            others.append(members)
    if missing:
        drawn.append(min(others, key=lambda members: _count(members, data=data)))
    return drawn


def _count(members: Sequence[Task], *, data: bool) -> int:
    return sum((task.kind in DATA_KINDS) is data for task in members)


def _in_order(clusters: Iterable[Sequence[Task]]) -> tuple[Task, ...]:
    return tuple(sorted((task for one in clusters for task in one), key=lambda task: task.id))
