"""What a model remembers of the tokens it has read, and which of it to keep for later requests.

Attention layers remember a key and a value for each token, short convolutions their input. All of
it is kept token by token, so any prefix of a sequence can be continued, or copied into another.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import torch

Tensor = Any
Ids = np.ndarray[Any, np.dtype[np.int32]]

LEAST_CAPACITY = 256  # tokens
LEAST_SHARED = 16  # tokens: less is computed as fast as it is copied


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """How much a model remembers of one token.

    :param attention: the indices of its attention layers.
    :param convolution: the indices of its convolution layers.
    :param window: how many earlier inputs a convolution looks at.
    """

    attention: tuple[int, ...]
    heads: int
    head_size: int
    convolution: tuple[int, ...] = ()
    hidden: int = 0
    window: int = 0
    dtype: Any = torch.float32

    @property
    def bytes_per_token(self) -> int:
        attention = 2 * len(self.attention) * self.heads * self.head_size
        return int((attention + len(self.convolution) * self.hidden) * self.dtype.itemsize)


class State:
    """What is remembered of one sequence under one adapter.

    :ivar length: how many tokens were read.
    :ivar kept_later: false once its owner is gone.
    """

    def __init__(self, shape: Shape, owner: Hashable) -> None:
        self.owner = owner
        self.length = 0
        self.kept_later = True
        self._shape = shape
        self._buffer: Ids = np.empty(0, np.int32)
        self._keep = torch.empty(0)
        self._inputs = torch.empty(0)
        self.layers: dict[int, Any] = {}
        """Attention: keys and values, ``[2, 1, heads, capacity, head_size]``;
        convolution: ``[hidden, window + capacity]``, zeros before the first token."""

    @property
    def ids(self) -> Ids:
        return self._buffer[: self.length]

    @property
    def capacity(self) -> int:
        return len(self._buffer)

    @property
    def nbytes(self) -> int:
        return self._shape.bytes_per_token * len(self._buffer)

    def reserve(self, tokens: int) -> None:
        """Make place for so many tokens in all."""
        if tokens <= len(self._buffer):
            return
        shape, old = self._shape, len(self._buffer)
        capacity = max(LEAST_CAPACITY, tokens + tokens // 4)
        place = (len(shape.attention), 2, 1, shape.heads, capacity, shape.head_size)
        keep = torch.empty(place, dtype=shape.dtype)
        inputs = torch.zeros(
            len(shape.convolution), shape.hidden, shape.window + capacity, dtype=shape.dtype
        )
        if old:
            keep.narrow(4, 0, self.length).copy_(self._keep.narrow(4, 0, self.length))
            read = shape.window + self.length
            inputs.narrow(2, 0, read).copy_(self._inputs.narrow(2, 0, read))
        buffer = np.empty(capacity, np.int32)
        buffer[: self.length] = self.ids
        self._adopt(buffer, keep, inputs)

    def append(self, ids: Sequence[int] | Ids) -> None:
        """Note that these tokens were read; their place was reserved and filled."""
        self._buffer[self.length : self.length + len(ids)] = ids
        self.length += len(ids)

    def copy(self, length: int, owner: Hashable) -> State:
        """The first tokens of it as a sequence of its own."""
        copied = State(self._shape, owner)
        copied.reserve(length)
        copied._keep.narrow(4, 0, length).copy_(self._keep.narrow(4, 0, length))
        read = self._shape.window + length
        copied._inputs.narrow(2, 0, read).copy_(self._inputs.narrow(2, 0, read))
        copied.append(self._buffer[:length])
        return copied

    def cut(self, length: int) -> None:
        """Forget what follows the first tokens."""
        self.length = min(self.length, length)

    def shared(self, ids: Ids) -> int:
        """How many tokens it has in common with the beginning of ``ids``."""
        most = min(self.length, len(ids))
        unlike = np.flatnonzero(self._buffer[:most] != ids[:most])
        return int(unlike[0]) if len(unlike) else most

    def _adopt(self, buffer: Ids, keep: Tensor, inputs: Tensor) -> None:
        self._buffer, self._keep, self._inputs = buffer, keep, inputs
        self.layers = {
            **{at: keep[n] for n, at in enumerate(self._shape.attention)},
            **{at: inputs[n] for n, at in enumerate(self._shape.convolution)},
        }


class States:
    """States of running requests, and of finished ones for as long as there is place.

    :param limit: bytes that all of them together may take.
    """

    def __init__(self, shape: Shape, limit: int) -> None:
        self.limit = limit
        self._shape = shape
        self._running: dict[int, State] = {}
        self._kept: OrderedDict[int, State] = OrderedDict()

    @property
    def nbytes(self) -> int:
        return sum(state.nbytes for state in chain(self._running.values(), self._kept.values()))

    def fits(self, tokens: int) -> bool:
        """Whether a request of so many tokens has place beside those that run. One alone always
        may try."""
        running = sum(state.nbytes for state in self._running.values())
        return not self._running or running + tokens * self._shape.bytes_per_token <= self.limit

    def take(self, owner: Hashable, ids: Ids) -> State:
        """A state to run a prompt with: it holds as much of the prompt's beginning as any known
        state of the same owner, but never all of it, since the last token is to be answered."""
        mine = [s for s in chain(self._kept.values(), self._running.values()) if s.owner == owner]
        best = max(mine, key=lambda state: state.shared(ids), default=None)
        shared = min(best.shared(ids), len(ids) - 1) if best else 0
        if best is None or shared < LEAST_SHARED:
            state = State(self._shape, owner)
        elif id(best) in self._kept and shared >= best.length - 1:
            state = self._kept.pop(id(best))
            state.cut(shared)
        else:
            state = best.copy(shared, owner)
            if id(best) in self._kept:
                self._kept.move_to_end(id(best))
        self._running[id(state)] = state
        return state

    def give_back(self, state: State) -> None:
        """A request is over: keep what it read, as long as there is place."""
        del self._running[id(state)]
        if state.kept_later and state.length >= LEAST_SHARED:
            self._kept[id(state)] = state
        self.make_place()

    def make_place(self) -> None:
        """Forget what was used least lately until all fits."""
        total = self.nbytes
        while total > self.limit and self._kept:
            _, dropped = self._kept.popitem(last=False)
            total -= dropped.nbytes

    def drop_kept(self) -> bool:
        """Forget all finished sequences; whether there were any."""
        had = bool(self._kept)
        self._kept.clear()
        return had

    def forget(self, owner: Hashable) -> None:
        """An owner is gone: drop what is kept for it, and what runs for it once it is done."""
        for state in self._running.values():
            if state.owner == owner:
                state.kept_later = False
        for key in [key for key, state in self._kept.items() if state.owner == owner]:
            del self._kept[key]


def as_ids(ids: Iterable[int]) -> Ids:
    return np.fromiter(ids, np.int32)
