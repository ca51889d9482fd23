"""Several LoRA adapters in one batch.

All adapters of a batch lie side by side: one matmul with all their A matrices, what belongs to
another row's adapter set to zero, one matmul with all their B matrices. Adapters of experts
(three-dimensional parameters, peft's ``target_parameters``) are merged, one copy of the experts for
each adapter, and rows go through the copy that is theirs.
"""

from __future__ import annotations

import copy
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.nn import functional

Tensor = Any
KNOWN = 8  # combinations of adapters whose matrices stay side by side


@dataclass(frozen=True, kw_only=True, eq=False)
class Adapter:
    """An adapter in memory.

    :param factors: path of a linear layer -> ``A [rank, in]`` and ``B [out, rank]``, scaled.
    :param experts: path of an experts module -> that module with the adapter merged in.
    """

    name: str
    path: str
    factors: Mapping[str, tuple[Tensor, Tensor]]
    experts: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Stack:
    """Adapters side by side at one place: ``A [ranks, in]``, ``B [out, ranks]``, and whose each of
    the ranks is, as places in the tuple of adapters."""

    a: Tensor
    b: Tensor
    owners: tuple[int, ...]


class Stacks:
    """Some adapters side by side, place by place, made when first asked for."""

    def __init__(self, adapters: tuple[Adapter, ...]) -> None:
        self.adapters = adapters
        self._at: dict[tuple[str, ...], Stack | None] = {}

    def at(self, paths: tuple[str, ...], sizes: tuple[int, ...]) -> Stack | None:
        """``None`` where none of them adapts anything.

        :param paths: linear layers of the same input, whose outputs follow each other.
        :param sizes: how long each of the outputs is.
        """
        try:
            return self._at[paths]
        except KeyError:
            self._at[paths] = stack = self._made(paths, sizes)
            return stack

    def _made(self, paths: tuple[str, ...], sizes: tuple[int, ...]) -> Stack | None:
        found = [
            (owner, sum(sizes[:number]), *adapter.factors[path])
            for owner, adapter in enumerate(self.adapters)
            for number, path in enumerate(paths)
            if path in adapter.factors
        ]
        if not found:
            return None
        owners = tuple(owner for owner, _, a, _ in found for _ in range(len(a)))
        b = found[0][3].new_zeros(sum(sizes), len(owners))
        column = 0
        for _, row, its_a, its_b in found:
            b[row : row + len(its_b), column : column + len(its_a)] = its_b
            column += len(its_a)
        return Stack(torch.cat([a for _, _, a, _ in found]), b, owners)


class Mix:
    """The adapters of one batch, row by row.

    :param rows: each row's adapter, ``None`` for the base model.
    """

    def __init__(self, rows: Sequence[Adapter | None], stacks: Stacks) -> None:
        self.rows = tuple(rows)
        self._stacks = stacks
        self._alike = len(set(rows)) == 1
        places: dict[Adapter | None, int] = {one: at for at, one in enumerate(stacks.adapters)}
        self._of_row = torch.tensor([places.get(one, -1) for one in rows])
        self._own: dict[tuple[int, ...], Tensor] = {}

    def add(self, y: Tensor, x: Tensor, paths: tuple[str, ...], sizes: tuple[int, ...]) -> Tensor:
        """What each row's adapter makes of ``x [rows, tokens, in]``, added to ``y``."""
        stack = self._stacks.at(paths, sizes)
        if stack is None:
            return y
        low = functional.linear(x, stack.a)
        if not self._alike:
            low = low.mul_(self._own_ranks(stack.owners))
        return y.add_(functional.linear(low, stack.b))

    def _own_ranks(self, owners: tuple[int, ...]) -> Tensor:
        try:
            return self._own[owners]
        except KeyError:
            own = (self._of_row[:, None] == torch.tensor(owners)).float()[:, None]
            self._own[owners] = own
            return own


class Batch:
    """The batch that the model works on at the moment; all adapted layers look here."""

    def __init__(self) -> None:
        self.mix = Mix((), Stacks(()))
        self._known: OrderedDict[tuple[Adapter, ...], Stacks] = OrderedDict()

    def use(self, rows: Sequence[Adapter | None]) -> None:
        """Let the next forward pass use these adapters."""
        if tuple(rows) == self.mix.rows:
            return
        adapters = tuple(sorted({one for one in rows if one}, key=id))
        stacks = self._known.pop(adapters, None) or Stacks(adapters)
        self._known[adapters] = stacks
        self.mix = Mix(rows, stacks)
        if len(self._known) > KNOWN:
            self._known.popitem(last=False)

    def forget(self, adapter: Adapter) -> None:
        """Let go of what lies side by side with an adapter."""
        for adapters in [some for some in self._known if adapter in some]:
            del self._known[adapters]
        self.mix = Mix((), Stacks(()))


class AdaptedLinear(torch.nn.Module):  # type: ignore[misc]
    """A linear layer of the base with the adapters of the batch on top."""

    def __init__(self, base: Any, path: str, batch: Batch) -> None:
        super().__init__()
        self.base = base
        self.path = path
        self._batch = batch

    @property
    def weight(self) -> Tensor:
        return self.base.weight

    def forward(self, x: Tensor) -> Tensor:
        y = functional.linear(x, self.base.weight, self.base.bias)
        return self._batch.mix.add(y, x, (self.path,), (len(self.base.weight),))


class AdaptedExperts(torch.nn.Module):  # type: ignore[misc]
    """Experts of the base; rows of an adapter that changes them go through its own copy."""

    def __init__(self, base: Any, path: str, batch: Batch) -> None:
        super().__init__()
        self.base = base
        self._path = path
        self._batch = batch

    def forward(self, x: Tensor, *routing: Tensor) -> Tensor:
        """:param x: ``[rows * tokens, hidden]``; ``routing``: first dimension the same."""
        rows = [one.experts.get(self._path) if one else None for one in self._batch.mix.rows]
        used = list(dict.fromkeys(rows))
        if len(used) == 1:
            return (used[0] or self.base)(x, *routing)
        which = torch.tensor([used.index(one) for one in rows])
        which = which.repeat_interleave(len(x) // len(rows))
        y = torch.empty_like(x)
        for number, experts in enumerate(used):
            mine = (which == number).nonzero().squeeze(1)
            y[mine] = (experts or self.base)(x[mine], *(part[mine] for part in routing))
        return y


def make_adaptable(model: Any, batch: Batch) -> None:
    """Put the adapters of the batch on top of every linear layer and every experts module, the
    output layer aside when it shares its weight with the input."""
    tied = model.get_output_embeddings() if model.config.tie_word_embeddings else None
    for path, module in list(model.named_modules()):
        if module is tied:
            continue
        parent, _, name = path.rpartition(".")
        if type(module) is torch.nn.Linear:
            setattr(model.get_submodule(parent), name, AdaptedLinear(module, path, batch))
        elif is_experts(module):
            setattr(model.get_submodule(parent), name, AdaptedExperts(module, path, batch))


def is_experts(module: Any) -> bool:
    """Whether it holds the weights of several experts in three-dimensional parameters."""
    return any(parameter.dim() == 3 for parameter in module.parameters(recurse=False)) and hasattr(
        module, "num_experts"
    )


def merged(experts: Any, changes: Mapping[str, Tensor]) -> Any:
    """The same experts with other values of some parameters; the rest is shared."""
    twin = copy.copy(experts)
    twin._parameters = dict(experts._parameters)
    for name, value in changes.items():
        twin._parameters[name] = torch.nn.Parameter(value, requires_grad=False)
    return twin
