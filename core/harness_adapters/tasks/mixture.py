"""Which tasks are trained on, in which proportion and order, and which never are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from itertools import islice
from pathlib import Path

from harness_adapters.errors import BadInput, BrokenTask, did_you_mean
from harness_adapters.tasks.bundle import load_tasks
from harness_adapters.tasks.difficulty import solve_rate
from harness_adapters.tasks.split import HeldOut, dealt, hold_out, shuffled
from harness_adapters.types import Task


@dataclass(frozen=True, kw_only=True)
class Mixture:
    """A set of tasks, split and ready to be trained on.

    :ivar train: what may be trained on, in id order.
    :ivar dev: tasks whose bundles say ``dev``: for choosing a checkpoint, never trained on.
    :ivar held_out: tasks that only a final comparison may see, in whole clusters.
    :ivar weights: share of each kind in an epoch; empty for all tasks as they are.
    :ivar left_out: why tasks are in none of them -> how many.
    :ivar broken: bundles that cannot be read.
    """

    train: tuple[Task, ...]
    dev: tuple[Task, ...] = ()
    held_out: tuple[Task, ...] = ()
    weights: Mapping[str, float] = field(default_factory=dict[str, float])
    left_out: Mapping[str, int] = field(default_factory=dict[str, int])
    broken: tuple[BrokenTask, ...] = ()

    def order(self, seed: int, epoch: int) -> list[Task]:
        """The tasks of one epoch, in the order in which they are visited; the same on every
        machine.

        Without weights that is every task of ``train``, once. With weights, the largest number
        of tasks in that proportion without any twice: each task of the scarcest kind, and the
        next so many of a kind that has more, which goes on in the next epoch where this one
        stopped. Kinds are spread evenly, so that any stretch of an epoch is mixed like the whole.
        """
        if epoch < 0:
            raise ValueError(f"epochs start at 0, not {epoch}")
        by_kind = _by_kind(self.train)
        shares = {
            kind: _turn(tasks, count, seed, epoch)
            for (kind, tasks), count in zip(by_kind.items(), self._counts(by_kind), strict=True)
        }
        return _spread(shares)

    def visits(self, seed: int, *, done: int = 0) -> Iterator[tuple[int, Task]]:
        """``(position, task)`` without end, from a position on: the number of visits before it.
        What a resumed run needs to know is that one number."""
        per_epoch = len(self.order(seed, 0))
        epoch, offset = divmod(done, per_epoch)
        position = done
        while True:
            for task in islice(self.order(seed, epoch), offset, None):
                yield position, task
                position += 1
            epoch, offset = epoch + 1, 0

    def _counts(self, by_kind: Mapping[str, Sequence[Task]]) -> list[int]:
        """Tasks of each kind in one epoch."""
        if not self.weights:
            return [len(tasks) for tasks in by_kind.values()]
        unit = min(len(tasks) / self.weights[kind] for kind, tasks in by_kind.items())
        return [max(1, int(self.weights[kind] * unit + 1e-9)) for kind in by_kind]


def mixture(
    tasks: Path | str | Sequence[Task],
    *,
    weights: Mapping[str, float] | None = None,
    caps: Mapping[str, int] | None = None,
    difficulty: tuple[float, float] = (0.0, 1.0),
    held_out: Mapping[str, int] | None = None,
    self_graded: bool = False,
    seed: int = 0,
) -> Mixture:
    """Split a set of tasks, and say which of it is trained on in which proportion.

    Held out are all tasks whose bundles say ``test``, and, until there are enough, whole clusters
    of the others, drawn by ``seed``. No task of a held-out cluster is trained on.

    :param tasks: a folder of task bundles, or tasks already loaded.
    :param weights: kind -> share of an epoch (any scale); 0 leaves a kind out. When given, each
        kind of the set needs one. Without, every task is visited once per epoch.
    :param caps: kind -> at most so many of its tasks, drawn evenly over its clusters.
    :param difficulty: lowest and highest measured solve rate. A task that was always or never
        solved teaches nothing and is always left out; one that was not measured is always kept.
    :param held_out: ``{"repository": 40, "data": 150}``: tasks about a source tree and data
        questions (``qa``); a part that is not named keeps its default.
    :param self_graded: also train on foreign tasks whose own script writes the reward.
    :raises BadInput: nothing is left to train on, there are fewer tasks than are to be held out,
        or a name is unknown.
    """
    broken: list[BrokenTask] = []
    if isinstance(tasks, str | Path):
        loaded, broken = load_tasks(Path(tasks))
    else:
        loaded = list(tasks)
    weights, caps = dict(weights or {}), dict(caps or {})
    _check_window(difficulty)
    counts = Counter(task.kind for task in loaded if self_graded or not task.self_graded)
    _check_kinds(counts, weights, caps)
    wanted = _held_out(held_out or {})
    parts = hold_out(loaded, wanted, seed=seed)
    left_out: Counter[str] = Counter()
    train = []
    for task in parts.train:
        if reason := _reason(task, weights, difficulty, self_graded):
            left_out[reason] += 1
        else:
            train.append(task)
    chosen: list[Task] = []
    for kind, of_kind in _by_kind(train).items():
        kept = dealt(of_kind, seed=seed)[: caps.get(kind)]
        left_out[f"above the cap of {kind}"] += len(of_kind) - len(kept)
        chosen += kept
    if not chosen:
        why = ", ".join(f"{number} {reason}" for reason, number in (+left_out).items())
        raise BadInput(
            f"no task to train on: of {len(loaded)}, {len(parts.held_out)} are held out, "
            f"{len(parts.dev)} are for development" + (f", {why}" if why else "")
        )
    used = {task.kind for task in chosen}
    return Mixture(
        train=tuple(sorted(chosen, key=lambda task: task.id)),
        dev=parts.dev,
        held_out=parts.held_out,
        weights={kind: weight for kind, weight in weights.items() if kind in used},
        left_out=dict(+left_out),
        broken=tuple(broken),
    )


def _held_out(given: Mapping[str, int]) -> HeldOut:
    known = [part.name for part in fields(HeldOut)]
    for name, number in given.items():
        if name not in known:
            raise BadInput(f"held_out: no part {name!r}{did_you_mean(name, known)}")
        if not _whole(number) or number < 0:
            raise BadInput(f"held_out: {name} must be a whole number of 0 or more, not {number!r}")
    return HeldOut(**given)


def _check_kinds(
    counts: Mapping[str, int], weights: Mapping[str, float], caps: Mapping[str, int]
) -> None:
    unmatched = [kind for kind in weights if kind not in counts]
    for kind, number in counts.items():
        if weights and kind not in weights:
            hint = did_you_mean(kind, unmatched)
            raise BadInput(
                f"weights: none for the kind {kind!r} ({number} tasks){hint} (0 leaves it out)"
            )
    for kind, weight in weights.items():
        if not _number(weight) or not 0 <= weight < float("inf"):
            raise BadInput(f"weights: {kind}: must be a number of 0 or more, not {weight!r}")
    for kind, cap in caps.items():
        if kind not in counts and kind not in weights:
            raise BadInput(f"caps: no task of the kind {kind!r}{did_you_mean(kind, counts)}")
        if not _whole(cap) or cap < 1:
            raise BadInput(f"caps: {kind}: must be a whole number of 1 or more, not {cap!r}")


def _check_window(window: Sequence[object]) -> None:
    numbers = [one for one in window if isinstance(one, int | float)]
    if len(window) != 2 or len(numbers) != 2 or not 0 <= numbers[0] <= numbers[1] <= 1:
        raise BadInput(
            f"difficulty: must be the lowest and highest solve rate, from 0 to 1, not {window!r}"
        )


def _number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _reason(
    task: Task, weights: Mapping[str, float], window: tuple[float, float], self_graded: bool
) -> str:
    """Why a task is not trained on; empty when it is."""
    if task.self_graded and not self_graded:
        return "graded by their own script"
    if weights and not weights[task.kind]:
        return f"of a kind without weight ({task.kind})"
    rate = solve_rate(task.metadata.difficulty)
    if rate is None:
        return ""
    if rate in (0.0, 1.0):
        return "always solved" if rate else "never solved"
    low, high = window
    return "" if low <= rate <= high else f"outside the difficulty window {low:g} to {high:g}"


def _by_kind(tasks: Sequence[Task]) -> dict[str, list[Task]]:
    kinds: dict[str, list[Task]] = {kind: [] for kind in sorted({task.kind for task in tasks})}
    for task in tasks:
        kinds[task.kind].append(task)
    return kinds


def _turn(tasks: Sequence[Task], count: int, seed: int, epoch: int) -> list[Task]:
    """The ``count`` tasks of a kind whose turn it is in an epoch: the next ones on a round through
    all of the kind, so that no task is visited twice before each was visited once."""
    ring = shuffled(tasks, f"ring/{seed}")
    start = epoch * count % len(ring)
    turn = (ring + ring)[start : start + count]
    return shuffled(turn, f"order/{seed}/{epoch}")


def _spread(shares: Mapping[str, Sequence[Task]]) -> list[Task]:
    """Kinds mixed evenly: the task ``i`` of ``n`` stands at ``(i + 1/2) / n`` of the way."""
    placed = [
        ((number + 0.5) / len(tasks), kind, number)
        for kind, tasks in shares.items()
        for number in range(len(tasks))
    ]
    return [shares[kind][number] for _, kind, number in sorted(placed)]
